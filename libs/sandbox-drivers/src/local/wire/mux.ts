import type { Duplex } from 'node:stream';
import {
  encodeFrameHeader,
  FRAME,
  FRAME_DATA_BYTES_MAX,
  FrameParser,
  type Frame,
  type FrameType,
} from './frames.ts';
import { ConnectionLost, decode, encode, MuxStream, type Document } from './mux-stream.ts';

/** A header document (argv, environment) is refused above this many bytes. */
export const HEADER_BYTES_MAX = 2 * 1024 * 1024;
/** Streams open at once on one connection. */
export const STREAMS_MAX = 256;

export interface MuxHandlers {
  /** Called once, with the peer's greeting, before any stream. Throwing ends the connection. */
  hello(greeting: Document): void;
  /** A stream that the peer opened; only the serving side has it. */
  open?(stream: MuxStream, header: Document): void;
  close(): void;
}

/** Many streams over one byte connection. The same class serves both ends. */
export class Mux {
  private readonly socket: Duplex;
  private readonly handlers: MuxHandlers;
  private readonly parser = new FrameParser();
  private readonly streams = new Map<number, MuxStream>();
  private readonly heads = new Map<number, Buffer[]>();
  private greeted = false;
  private nextId = 1;
  private drain: Promise<void> | undefined;
  private dead = false;

  constructor(socket: Duplex, handlers: MuxHandlers) {
    this.socket = socket;
    this.handlers = handlers;
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.destroy());
  }

  get alive(): boolean {
    return !this.dead;
  }

  get streamCount(): number {
    return this.streams.size;
  }

  greet(greeting: Document): void {
    void this.write(FRAME.hello, 0, encode(greeting));
  }

  open(header: Document): MuxStream {
    const bytes = Buffer.from(JSON.stringify(header));
    if (bytes.length > HEADER_BYTES_MAX) throw new RangeError('arguments and environment too long');
    const stream = new MuxStream(this, this.nextId++);
    if (this.dead) {
      stream.lost(new ConnectionLost());
      return stream;
    }
    this.streams.set(stream.id, stream);
    let offset = 0;
    for (; bytes.length - offset > FRAME_DATA_BYTES_MAX; offset += FRAME_DATA_BYTES_MAX) {
      const part = bytes.subarray(offset, offset + FRAME_DATA_BYTES_MAX);
      void this.write(FRAME.head, stream.id, part);
    }
    void this.write(FRAME.open, stream.id, bytes.subarray(offset));
    return stream;
  }

  /** Resolves when the socket can take more, or is gone. */
  async write(type: FrameType, stream: number, ...parts: Uint8Array[]): Promise<void> {
    if (this.dead) return;
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.socket.cork();
    this.socket.write(encodeFrameHeader(type, stream, length));
    for (const part of parts) this.socket.write(part);
    this.socket.uncork();
    if (!this.socket.writableNeedDrain) return;
    this.drain ??= new Promise<void>((resolve) => {
      const done = (): void => {
        this.socket.off('drain', done).off('close', done);
        this.drain = undefined;
        resolve();
      };
      this.socket.once('drain', done).once('close', done);
    });
    await this.drain;
  }

  forget(id: number): void {
    this.streams.delete(id);
  }

  destroy(): void {
    if (this.dead) return;
    this.dead = true;
    this.socket.destroy();
    for (const stream of this.streams.values()) stream.lost(new ConnectionLost());
    this.streams.clear();
    this.handlers.close();
  }

  private receive(chunk: Buffer): void {
    try {
      for (const frame of this.parser.push(chunk)) this.dispatch(frame);
    } catch {
      // A peer that breaks the protocol cannot be told apart from a hostile one.
      this.destroy();
    }
  }

  private dispatch(frame: Frame): void {
    if (this.dead) return;
    if (!this.greeted) {
      if (frame.type !== FRAME.hello) throw new Error('no greeting');
      this.handlers.hello(decode(frame.payload));
      this.greeted = true;
      return;
    }
    if (frame.type === FRAME.head || frame.type === FRAME.open) return this.collect(frame);
    const stream = this.streams.get(frame.stream);
    // Frames of a stream that has just ended are late, not wrong.
    if (stream && !stream.accept(frame)) throw new Error('protocol');
  }

  private collect(frame: Frame): void {
    if (!this.handlers.open) throw new Error('only the driver opens streams');
    const parts = this.heads.get(frame.stream) ?? [];
    parts.push(frame.payload);
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    if (bytes > HEADER_BYTES_MAX || this.heads.size > STREAMS_MAX) throw new Error('header');
    if (frame.type === FRAME.head) {
      this.heads.set(frame.stream, parts);
      return;
    }
    this.heads.delete(frame.stream);
    if (this.streams.size >= STREAMS_MAX || this.streams.has(frame.stream)) throw new Error('open');
    const stream = new MuxStream(this, frame.stream);
    this.streams.set(frame.stream, stream);
    this.handlers.open(stream, decode(Buffer.concat(parts)));
  }
}
