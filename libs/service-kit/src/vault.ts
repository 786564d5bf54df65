import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { HangarError } from '@hangar/contracts';
import { VAULT_KEY_BYTES, VAULT_KEYS_MAX } from './setting-kinds.ts';

const CIPHER = 'aes-256-gcm';
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAGIC = Buffer.from('HGV1', 'ascii');
const HEADER_BYTES = MAGIC.byteLength + KEY_ID_BYTES + NONCE_BYTES;
/** Secrets and keys only; what is larger goes through `sealStream`, a segment at a time. */
export const SEALED_VALUE_BYTES_MAX = 1024 * 1024;
export const DATA_KEY_BYTES = 32;

/** What a sealed value is for; part of what is authenticated, so one is never taken for another. */
type Purpose = 'value' | 'data-key';

/**
 * Seals small values and the data keys of checkpoints with the vault keys ([C4], [Z2]).
 *
 * AES-256-GCM with a random nonce; `aad` names what the value belongs to, so that a sealed value
 * moved to another owner does not open. The layout is in docs/formats/sealing.md. Every way to
 * open throws HangarError('invalid') for what is damaged, foreign or sealed with an unknown key.
 */
export class Vault {
  readonly #keys: ReadonlyMap<string, Buffer>;
  /** Of the newest key: the first 8 hex digits of its SHA-256. */
  readonly keyId: string;

  /** `keys`: 32 bytes each, newest first; the newest seals, all of them open. */
  constructor(keys: readonly Uint8Array[]) {
    const [newest] = keys;
    if (newest === undefined || keys.length > VAULT_KEYS_MAX) {
      throw new HangarError('invalid', `A vault needs 1 to ${VAULT_KEYS_MAX} keys.`, {
        hint: 'Set HANGAR_VAULT_KEY; openssl rand -base64 32 makes a key.',
      });
    }
    if (keys.some((key) => key.byteLength !== VAULT_KEY_BYTES)) {
      throw new HangarError('invalid', `A vault key has ${VAULT_KEY_BYTES} bytes.`);
    }
    this.#keys = new Map(keys.map((key) => [vaultKeyId(key), Buffer.from(key)]));
    this.keyId = vaultKeyId(newest);
  }

  /** At most 1 MiB; the sealed form is 36 bytes longer. */
  seal(plain: Uint8Array | string, aad: string): Buffer {
    return this.#seal('value', Buffer.from(plain as Uint8Array), aad);
  }

  unseal(sealed: Uint8Array, aad: string): Buffer {
    return this.#open('value', Buffer.from(sealed), aad);
  }

  newDataKey(): Buffer {
    return randomBytes(DATA_KEY_BYTES);
  }

  /** A data key as text (base64url, 91 characters) that may lie beside what it seals. */
  wrap(dataKey: Uint8Array, aad: string): string {
    if (dataKey.byteLength !== DATA_KEY_BYTES) {
      throw new HangarError('invalid', `A data key has ${DATA_KEY_BYTES} bytes.`);
    }
    return this.#seal('data-key', Buffer.from(dataKey), aad).toString('base64url');
  }

  unwrap(wrapped: string, aad: string): Buffer {
    return this.#open('data-key', Buffer.from(wrapped, 'base64url'), aad);
  }

  /** The same data key under the newest vault key; the same text where it is that already. */
  rewrap(wrapped: string, aad: string): string {
    if (!this.isStale(Buffer.from(wrapped, 'base64url'))) return wrapped;
    return this.wrap(this.unwrap(wrapped, aad), aad);
  }

  /** Sealed with an older key: to be sealed anew before that key is taken out of the setting. */
  isStale(sealed: Uint8Array): boolean {
    return sealedKeyId(Buffer.from(sealed)) !== this.keyId;
  }

  #seal(purpose: Purpose, plain: Buffer, aad: string): Buffer {
    if (plain.byteLength > SEALED_VALUE_BYTES_MAX) {
      throw new HangarError('invalid', 'A sealed value holds 1 MiB at most.');
    }
    const nonce = randomBytes(NONCE_BYTES);
    const header = Buffer.concat([MAGIC, Buffer.from(this.keyId, 'hex'), nonce]);
    const cipher = createCipheriv(CIPHER, this.#keys.get(this.keyId)!, nonce);
    cipher.setAAD(authenticated(purpose, aad));
    return Buffer.concat([header, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  #open(purpose: Purpose, sealed: Buffer, aad: string): Buffer {
    const keyId = sealedKeyId(sealed);
    const key = this.#keys.get(keyId);
    if (!key) {
      throw new HangarError('invalid', `This was sealed with the vault key ${keyId}.`, {
        hint: `Add that key at the end of HANGAR_VAULT_KEY; it has ${[...this.#keys.keys()].join()}.`,
      });
    }
    const nonce = sealed.subarray(HEADER_BYTES - NONCE_BYTES, HEADER_BYTES);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(authenticated(purpose, aad));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const body = decipher.update(sealed.subarray(HEADER_BYTES, -TAG_BYTES));
    try {
      return Buffer.concat([body, decipher.final()]);
    } catch (cause) {
      throw damaged(cause);
    }
  }
}

export function vaultKeyId(key: Uint8Array): string {
  return createHash('sha256')
    .update(key)
    .digest('hex')
    .slice(0, 2 * KEY_ID_BYTES);
}

function sealedKeyId(sealed: Buffer): string {
  const whole = sealed.byteLength >= HEADER_BYTES + TAG_BYTES;
  if (!whole || !sealed.subarray(0, MAGIC.byteLength).equals(MAGIC)) throw damaged();
  return sealed.toString('hex', MAGIC.byteLength, MAGIC.byteLength + KEY_ID_BYTES);
}

function authenticated(purpose: Purpose, aad: string): Buffer {
  return Buffer.from(`HGV1\0${purpose}\0${aad}`, 'utf8');
}

function damaged(cause?: unknown): HangarError {
  return new HangarError(
    'invalid',
    'The sealed value is damaged, or it belongs to another place.',
    {
      hint: 'Restore it from a copy; a changed byte cannot be repaired.',
      cause,
    },
  );
}
