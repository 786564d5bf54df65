import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Transform } from 'node:stream';
import { HangarError } from '@hangar/contracts';
import { DATA_KEY_BYTES } from './vault.ts';

/**
 * Streaming encryption of checkpoint parts ([C4]): the STREAM construction over AES-256-GCM.
 * A key of its own for each stream comes from the data key, a random salt and `aad` by HKDF, so
 * the nonces can be plain counters. The counter and a flag for the last segment are the nonce:
 * a segment that was cut, moved, doubled or changed does not open. Layout in
 * docs/formats/sealing.md.
 */
const CIPHER = 'aes-256-gcm';
const MAGIC = Buffer.from('HGR1', 'ascii');
const SALT_BYTES = 32;
const HEADER_BYTES = MAGIC.byteLength + SALT_BYTES;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
export const SEGMENT_BYTES = 64 * 1024;
const SEALED_SEGMENT_BYTES = SEGMENT_BYTES + TAG_BYTES;
/** The counter has 32 bits: 256 TiB. */
const SEGMENTS_MAX = 2 ** 32;

/** How long a stream of `plainBytes` is once sealed. */
export function sealedBytes(plainBytes: number): number {
  const segments = Math.max(1, Math.ceil(plainBytes / SEGMENT_BYTES));
  return HEADER_BYTES + plainBytes + segments * TAG_BYTES;
}

/** Plain bytes in, sealed bytes out. `aad` says which part of what this is, and opens it again. */
export function sealStream(dataKey: Uint8Array, aad: string): Transform {
  const salt = randomBytes(SALT_BYTES);
  const key = streamKey(dataKey, salt, aad);
  const segments = new Segments(SEGMENT_BYTES, (plain, nonce) => {
    const cipher = createCipheriv(CIPHER, key, nonce);
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  });
  let begun = false;
  const begin = (transform: Transform): void => {
    if (!begun) transform.push(Buffer.concat([MAGIC, salt]));
    begun = true;
  };
  return segmentTransform(begin, segments);
}

/**
 * Sealed bytes in, plain bytes out, each segment checked before it is given. Ends with
 * HangarError('invalid') where anything was cut, added, moved or changed, or the key or `aad` is
 * another one. What came before is genuine but may be cut short: use it only once the stream ended.
 */
export function openStream(dataKey: Uint8Array, aad: string): Transform {
  const header: Buffer[] = [];
  let missing = HEADER_BYTES;
  let key: Buffer | undefined;
  const segments = new Segments(SEALED_SEGMENT_BYTES, (sealed, nonce, counter) => {
    if (!key || sealed.byteLength < TAG_BYTES) throw cut();
    return openSegment(key, sealed, nonce, counter);
  });
  /** Takes the header off the front; gives what is left of the chunk. */
  const takeHeader = (chunk: Buffer): Buffer => {
    if (missing === 0) return chunk;
    const taken = chunk.subarray(0, missing);
    header.push(Buffer.from(taken));
    missing -= taken.byteLength;
    if (missing === 0) key = readHeader(Buffer.concat(header), dataKey, aad);
    return chunk.subarray(taken.byteLength);
  };
  return segmentTransform(() => undefined, segments, takeHeader);
}

/**
 * Gathers bytes to segments of a fixed size. A full segment waits until a byte comes after it,
 * for only then it is known not to be the last.
 */
class Segments {
  readonly #buffer: Buffer;
  readonly #turn: (segment: Buffer, nonce: Buffer, counter: number) => Buffer;
  #filled = 0;
  #counter = 0;

  constructor(size: number, turn: (segment: Buffer, nonce: Buffer, counter: number) => Buffer) {
    this.#buffer = Buffer.alloc(size);
    this.#turn = turn;
  }

  *add(chunk: Buffer): Generator<Buffer> {
    for (let at = 0; at < chunk.byteLength;) {
      if (this.#filled === this.#buffer.byteLength) yield this.#next(false);
      const copied = chunk.copy(this.#buffer, this.#filled, at);
      this.#filled += copied;
      at += copied;
    }
  }

  end(): Buffer {
    return this.#next(true);
  }

  #next(last: boolean): Buffer {
    if (this.#counter >= SEGMENTS_MAX) {
      throw new HangarError('invalid', 'A sealed stream holds 256 TiB at most.');
    }
    const nonce = Buffer.alloc(NONCE_BYTES);
    nonce.writeUInt32BE(this.#counter, NONCE_BYTES - 5);
    nonce.writeUInt8(last ? 1 : 0, NONCE_BYTES - 1);
    const turned = this.#turn(this.#buffer.subarray(0, this.#filled), nonce, this.#counter);
    this.#counter += 1;
    this.#filled = 0;
    return turned;
  }
}

function segmentTransform(
  begin: (transform: Transform) => void,
  segments: Segments,
  front: (chunk: Buffer) => Buffer = (chunk) => chunk,
): Transform {
  return new Transform({
    transform(chunk: Buffer | string, encoding, done) {
      try {
        begin(this);
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
        for (const segment of segments.add(front(bytes))) this.push(segment);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
    flush(done) {
      try {
        begin(this);
        this.push(segments.end());
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

function readHeader(header: Buffer, dataKey: Uint8Array, aad: string): Buffer {
  if (!header.subarray(0, MAGIC.byteLength).equals(MAGIC)) {
    throw new HangarError('invalid', 'This is not a sealed part: it does not begin with HGR1.');
  }
  return streamKey(dataKey, header.subarray(MAGIC.byteLength), aad);
}

function streamKey(dataKey: Uint8Array, salt: Buffer, aad: string): Buffer {
  if (dataKey.byteLength !== DATA_KEY_BYTES) {
    throw new HangarError('invalid', `A data key has ${DATA_KEY_BYTES} bytes.`);
  }
  return Buffer.from(hkdfSync('sha256', dataKey, salt, `HGR1\0${aad}`, DATA_KEY_BYTES));
}

function openSegment(key: Buffer, sealed: Buffer, nonce: Buffer, counter: number): Buffer {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const plain = decipher.update(sealed.subarray(0, -TAG_BYTES));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch (cause) {
    throw new HangarError(
      'invalid',
      `The sealed part is damaged, cut or not this one (segment ${counter + 1}).`,
      { hint: 'Use an older checkpoint; a changed byte cannot be repaired.', cause },
    );
  }
}

function cut(): HangarError {
  return new HangarError('invalid', 'The sealed part is cut: it ends before its first segment.', {
    hint: 'Use an older checkpoint.',
  });
}
