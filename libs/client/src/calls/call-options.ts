/** What every call takes besides its own arguments. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** For calls that may hold their answer back for the outcome: 0 to WAIT_SECONDS_MAX seconds. */
export interface WaitOptions extends CallOptions {
  waitSeconds?: number | undefined;
}

/** For calls that create: the same key and body again give the same answer [M2]. */
export interface CreateOptions extends WaitOptions {
  /** Left out, a new one is made, which makes the retries of this one call safe. */
  idempotencyKey?: string | undefined;
}

export const segment = (text: string): string => encodeURIComponent(text);

export const sessionPath = (ref: string, tail = ''): string =>
  `/api/sessions/${segment(ref)}${tail}`;

/** 128 bits of chance, hex; works where `crypto.randomUUID` is missing (plain HTTP in a browser). */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
