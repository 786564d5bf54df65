/** Messages that wait for the transport; more make the writer wait. */
const OUTBOX_MESSAGES_MAX = 4;

/** Turns several writers into one stream of messages, at the speed of its reader. */
export class Outbox<T> implements AsyncIterable<T> {
  private readonly queue: T[] = [];
  private readonly writers: (() => void)[] = [];
  private reader: (() => void) | undefined;
  private ended = false;
  private closed = false;

  /** Resolves when there is room again; false when nobody reads any more. */
  async push(message: T): Promise<boolean> {
    while (this.queue.length >= OUTBOX_MESSAGES_MAX && !this.closed) {
      await new Promise<void>((resolve) => this.writers.push(resolve));
    }
    return this.send(message);
  }

  /** For small messages whose number is bounded otherwise; never waits. */
  send(message: T): boolean {
    if (this.closed || this.ended) return false;
    this.queue.push(message);
    this.reader?.();
    return true;
  }

  end(): void {
    this.ended = true;
    this.reader?.();
  }

  /** The reader went away: writers give up. */
  close(): void {
    this.closed = true;
    this.queue.length = 0;
    this.reader?.();
    for (const writer of this.writers.splice(0)) writer();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const message = this.queue.shift();
        if (message !== undefined) {
          this.writers.shift()?.();
          yield message;
        } else if (this.ended || this.closed) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.reader = resolve;
          });
        }
      }
    } finally {
      this.close();
    }
  }
}
