import { Readable } from 'node:stream';

/** Bytes that may be under way on one channel before the reader has taken any. */
export const CHANNEL_WINDOW_BYTES = 256 * 1024;
/** Credit is given back in steps of this size, so that small reads do not each cost a frame. */
const CREDIT_STEP_BYTES = 64 * 1024;

/**
 * The receiving half of one channel: a bounded queue in front of a Readable. Bytes count as
 * taken when the Readable took them; only then the sender gets credit for more. A destroyed
 * reader goes on taking and drops what it gets, so that nobody blocks on it.
 */
export interface ChannelReader {
  readonly readable: Readable;
  /** True when the sender kept to its credit. */
  receive(bytes: Buffer): boolean;
  end(): void;
  fail(error: Error): void;
  /** For output whose truth is in an exit status: a lost connection ends it without an error. */
  endOnLoss(): void;
  /** Resolves when every byte was taken, or the reader was destroyed. */
  readonly drained: Promise<void>;
}

export const createChannelReader = (grant: (bytes: number) => void): ChannelReader => {
  const queue: Buffer[] = [];
  let queuedBytes = 0;
  let owedBytes = 0;
  let wanted = false;
  let ended = false;
  let closed = false;
  let quietLoss = false;
  const { promise: drained, resolve: settle } = Promise.withResolvers<void>();

  const give = (force: boolean): void => {
    if (ended || owedBytes === 0 || (!force && owedBytes < CREDIT_STEP_BYTES)) return;
    grant(owedBytes);
    owedBytes = 0;
  };
  const finish = (): void => {
    if (closed || queue.length > 0 || !ended || readable.destroyed) return;
    closed = true;
    readable.push(null);
    if (readable.readableLength === 0) settle();
  };
  const flush = (): void => {
    while (wanted && queue.length > 0) {
      const chunk = queue.shift()!;
      queuedBytes -= chunk.length;
      owedBytes += chunk.length;
      wanted = false;
      if (readable.push(chunk)) wanted = true;
    }
    give(queue.length === 0);
    finish();
  };
  const readable = new Readable({
    highWaterMark: CREDIT_STEP_BYTES,
    read() {
      wanted = true;
      flush();
    },
    destroy(error, callback) {
      queue.length = 0;
      owedBytes += queuedBytes;
      queuedBytes = 0;
      give(true);
      settle();
      callback(error);
    },
  });
  readable.once('end', settle);
  // A lost connection may hit a reader that nobody listens to; that must not end the process.
  readable.on('error', () => undefined);

  return {
    readable,
    drained,
    receive(bytes) {
      if (queuedBytes + owedBytes + bytes.length > CHANNEL_WINDOW_BYTES || ended) return false;
      if (readable.destroyed) {
        owedBytes += bytes.length;
        give(true);
        return true;
      }
      queue.push(bytes);
      queuedBytes += bytes.length;
      flush();
      return true;
    },
    end() {
      ended = true;
      finish();
    },
    fail(error) {
      if (ended) return;
      if (!quietLoss) readable.destroy(error);
      ended = true;
      finish();
    },
    endOnLoss() {
      quietLoss = true;
    },
  };
};

/** The sending half of one channel: how much may still be sent. */
export class SendCredit {
  private available = CHANNEL_WINDOW_BYTES;
  private wake: (() => void) | undefined;
  private closed = false;

  /** Bytes that may be sent now, at most `wanted`; 0 when nothing may be sent any more. */
  async take(wanted: number): Promise<number> {
    while (this.available === 0 && !this.closed) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    if (this.closed) return 0;
    const taken = Math.min(wanted, this.available);
    this.available -= taken;
    return taken;
  }

  give(bytes: number): void {
    this.available = Math.min(this.available + bytes, CHANNEL_WINDOW_BYTES);
    this.wake?.();
  }

  close(): void {
    this.closed = true;
    this.wake?.();
  }
}
