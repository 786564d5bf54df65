import type {
  CreateTokenInput,
  CreatedToken,
  SecretDocument,
  SetSecret,
  TokenDocument,
} from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import { newIdempotencyKey, segment, type CallOptions } from './call-options.ts';

export interface SecretCalls {
  /** Writes a value, or a new version of it; nothing ever reads it back [Z2]. */
  set(body: SetSecret, options?: CallOptions): Promise<SecretDocument>;
  list(options?: CallOptions): Promise<{ items: SecretDocument[] }>;
  delete(name: string, options?: CallOptions): Promise<void>;
}

/** For holders of the scope `admin` [Z1]. */
export interface TokenCalls {
  /** The answer is the one place where the token's value is ever shown. */
  create(body: CreateTokenInput, options?: CallOptions): Promise<CreatedToken>;
  list(options?: CallOptions): Promise<{ items: TokenDocument[] }>;
  revoke(tokenId: string, options?: CallOptions): Promise<void>;
}

export function createSecretCalls(transport: Transport): SecretCalls {
  const path = '/api/secrets';
  return {
    set: (body, options = {}) =>
      transport.json({
        method: 'POST',
        path,
        body,
        idempotencyKey: newIdempotencyKey(),
        signal: options.signal,
      }),
    list: (options = {}) => transport.json({ method: 'GET', path, signal: options.signal }),
    async delete(name, options = {}) {
      const call = { method: 'DELETE', path: `${path}/${segment(name)}` } as const;
      await transport.json({ ...call, signal: options.signal });
    },
  };
}

export function createTokenCalls(transport: Transport): TokenCalls {
  const path = '/api/tokens';
  return {
    create: (body, options = {}) =>
      transport.json({
        method: 'POST',
        path,
        body,
        idempotencyKey: newIdempotencyKey(),
        signal: options.signal,
      }),
    list: (options = {}) => transport.json({ method: 'GET', path, signal: options.signal }),
    async revoke(tokenId, options = {}) {
      const call = { method: 'DELETE', path: `${path}/${segment(tokenId)}` } as const;
      await transport.json({ ...call, signal: options.signal });
    },
  };
}
