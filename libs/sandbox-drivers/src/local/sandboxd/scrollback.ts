/** A view that begins in the middle looks this far for the start of a line. */
const LINE_START_BYTES_MAX = 4 * 1024;

/** The newest bytes of an endless output, by their offset in it. */
export class Scrollback {
  private readonly ring: Buffer;
  private written = 0;

  constructor(bytesMax: number) {
    this.ring = Buffer.allocUnsafe(bytesMax);
  }

  /** Offset of the first byte that is kept. */
  get start(): number {
    return Math.max(0, this.written - this.ring.length);
  }

  /** Offset of the byte that comes next. */
  get end(): number {
    return this.written;
  }

  push(bytes: Buffer): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - this.ring.length));
    const at = (this.written + bytes.length - kept.length) % this.ring.length;
    const head = kept.copy(this.ring, at);
    kept.copy(this.ring, 0, head);
    this.written += bytes.length;
  }

  /** A copy of what is kept from the offset on, at most so many bytes. */
  read(from: number, bytesMax: number): Buffer {
    const length = Math.min(bytesMax, this.written - from);
    if (from < this.start || length <= 0) return Buffer.alloc(0);
    const at = from % this.ring.length;
    const head = this.ring.subarray(at, Math.min(at + length, this.ring.length));
    return Buffer.concat([head, this.ring.subarray(0, length - head.length)]);
  }

  /**
   * Where a view from this offset can begin. One that has lost its place begins with a line: half a
   * character or half an escape sequence would spoil what follows.
   */
  place(from: number): number {
    if (from >= this.start) return Math.min(from, this.written);
    const newline = this.read(this.start, LINE_START_BYTES_MAX).indexOf(10);
    return this.start + newline + 1;
  }
}
