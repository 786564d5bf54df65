/** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) return stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Doubles from `firstMs` to `maxMs`; half of it is chance, so that many clients spread out. */
export const backoffMs = (attempt: number, firstMs: number, maxMs: number): number => {
  const full = Math.min(maxMs, firstMs * 2 ** attempt);
  return full / 2 + (Math.random() * full) / 2;
};
