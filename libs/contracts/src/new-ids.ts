import { createHash, randomBytes } from 'node:crypto';
import type { RandomIdPrefix } from './ids.ts';

// Apart from ids.ts: only servers make ids, and browsers have no node:crypto.

export const newId = (prefix: RandomIdPrefix): string =>
  `${prefix}-${randomBytes(4).toString('hex')}`;

/** An id that follows from its cause. */
export const deriveId = (prefix: RandomIdPrefix, ...cause: (string | number)[]): string =>
  `${prefix}-${createHash('sha256').update(cause.join('\0')).digest('hex').slice(0, 8)}`;

/** A UUID (laid out as version 4) that follows from its cause: event and conversation ids. */
export const deriveUuid = (...cause: (string | number)[]): string => {
  const b = createHash('sha256').update(cause.join('\0')).digest().subarray(0, 16);
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const h = b.toString('hex');
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
};
