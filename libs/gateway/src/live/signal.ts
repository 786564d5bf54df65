/** Says that there is something new. Woken over the bus; who waits also looks once a second. */
export class Signal {
  readonly #unsubscribe: () => void;
  readonly #waiting = new Set<() => void>();
  #commits = 0;

  /** `subscribe` returns the function that ends the subscription. */
  constructor(subscribe: (announce: () => void) => () => void) {
    this.#unsubscribe = subscribe(() => this.#announce());
  }

  /** A mark to give to `next`: what is committed after it is not missed. */
  get mark(): number {
    return this.#commits;
  }

  close(): void {
    this.#unsubscribe();
    this.#announce();
  }

  #announce(): void {
    this.#commits += 1;
    for (const end of this.#waiting) end();
  }

  /** Ends with the first commit after `mark`, which may have been already, or after `ms`. */
  next(mark: number, ms: number, stop: AbortSignal): Promise<void> {
    if (this.#commits !== mark || stop.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        stop.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#waiting.add(end);
      stop.addEventListener('abort', end, { once: true });
    });
  }
}
