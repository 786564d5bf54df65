import { createHash, randomBytes } from 'node:crypto';

/** Ids are a prefix and 8 hex digits ([S1], ARCHITECTURE 2.4); contracts only shape and derive them. */
export type IdPrefix = 'ses' | 'sbx' | 'ckp' | 'run' | 'msg' | 'card' | 'tok' | 'job';

export const ID_PATTERN = /^(ses|sbx|ckp|run|msg|card|tok|job)-[0-9a-f]{8}$/;

export const newId = (prefix: IdPrefix): string => `${prefix}-${randomBytes(4).toString('hex')}`;

/**
 * The one id a caused thing can have: the same cause always gives the same id, so that a
 * second start collides on the expected version and is dropped (ARCHITECTURE 2.1, point 5).
 */
export const deriveId = (prefix: IdPrefix, ...cause: (string | number)[]): string =>
  `${prefix}-${createHash('sha256').update(cause.join('\0')).digest('hex').slice(0, 8)}`;

/** A UUID derived from its cause (RFC 9562 version 8), for event and command ids. */
export const deriveUuid = (...cause: (string | number)[]): string => {
  const b = createHash('sha256').update(cause.join('\0')).digest().subarray(0, 16);
  b[6] = (b[6]! & 0x0f) | 0x80;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const h = b.toString('hex');
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
};
