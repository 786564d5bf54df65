import type { Readable } from 'node:stream';
import { createChannelReader, SendCredit, type ChannelReader } from './channel.ts';
import { FRAME, FRAME_DATA_BYTES_MAX, type Frame, type FrameType } from './frames.ts';

/** Channels of a stream, as numbers on the wire. */
export const CHANNEL = { in: 0, out: 1, err: 2 } as const;
export type Channel = (typeof CHANNEL)[keyof typeof CHANNEL];

const isChannel = (value: number | undefined): value is Channel =>
  value === CHANNEL.in || value === CHANNEL.out || value === CHANNEL.err;

/** Thrown into readers when the connection goes away before their end. */
export class ConnectionLost extends Error {
  constructor(message = 'the connection to the sandbox was lost') {
    super(message);
    this.name = 'ConnectionLost';
  }
}

export type Document = Record<string, unknown>;

/** What a stream needs of the connection that carries it. */
export interface StreamOwner {
  write(type: FrameType, stream: number, ...parts: Uint8Array[]): Promise<void>;
  forget(id: number): void;
}

/** Messages that may come before somebody listens to a stream. */
const MESSAGES_PENDING_MAX = 16;

/** One operation on a connection: three byte channels, messages, one result. */
export class MuxStream {
  readonly id: number;
  /** Resolves with the result document; rejects with ConnectionLost. */
  readonly result: Promise<Document>;
  /** Aborted when the opener gave up or the connection is gone. */
  readonly cancelled: AbortSignal;
  /** Messages that came before somebody listened are kept; the bound is small on purpose. */
  private readonly pending: Document[] = [];
  private listener: ((message: Document) => void) | undefined;
  private readonly mux: StreamOwner;
  private readonly readers = new Map<Channel, ChannelReader>();
  private readonly credits = new Map<Channel, SendCredit>();
  private readonly aborter = new AbortController();
  private readonly outcome = Promise.withResolvers<Document>();
  private closed = false;
  private loss: ConnectionLost | undefined;

  constructor(mux: StreamOwner, id: number) {
    this.mux = mux;
    this.id = id;
    this.result = this.outcome.promise;
    this.result.catch(() => undefined);
    this.cancelled = this.aborter.signal;
  }

  reader(channel: Channel): ChannelReader {
    let reader = this.readers.get(channel);
    if (!reader) {
      reader = createChannelReader((bytes) => this.grant(channel, bytes));
      this.readers.set(channel, reader);
      if (this.loss) reader.fail(this.loss);
      else if (this.closed) reader.end();
    }
    return reader;
  }

  readable(channel: Channel): Readable {
    return this.reader(channel).readable;
  }

  /** Resolves when the bytes were handed over; false when the other side takes no more. */
  async write(channel: Channel, bytes: Uint8Array): Promise<boolean> {
    const credit = this.credit(channel);
    for (let offset = 0; offset < bytes.length;) {
      const wanted = Math.min(FRAME_DATA_BYTES_MAX, bytes.length - offset);
      const allowed = await credit.take(wanted);
      if (allowed === 0) return false;
      const head = Buffer.from([channel]);
      await this.mux.write(FRAME.data, this.id, head, bytes.subarray(offset, offset + allowed));
      offset += allowed;
    }
    return !this.closed;
  }

  end(channel: Channel): void {
    if (!this.closed) void this.mux.write(FRAME.end, this.id, Buffer.from([channel]));
  }

  send(message: Document): void {
    if (!this.closed) void this.mux.write(FRAME.message, this.id, encode(message));
  }

  onMessage(listener: (message: Document) => void): void {
    this.listener = listener;
    for (const message of this.pending.splice(0)) listener(message);
  }

  /** Ends the stream from the serving side. */
  finish(result: Document): void {
    if (this.closed) return;
    void this.mux.write(FRAME.result, this.id, encode(result));
    this.close();
  }

  /** Gives the stream up from the opening side; the result still arrives when there is one. */
  cancel(): void {
    if (!this.closed) void this.mux.write(FRAME.cancel, this.id, Buffer.alloc(0));
  }

  /** Gives the stream up and does not wait for what the other side says to that. */
  abandon(): void {
    this.cancel();
    this.lost(new ConnectionLost('the caller gave up'));
  }

  /** Handles one frame; false means that the peer broke the protocol. */
  accept(frame: Frame): boolean {
    const channel = frame.payload[0];
    switch (frame.type) {
      case FRAME.data:
        return isChannel(channel) && this.reader(channel).receive(frame.payload.subarray(1));
      case FRAME.end:
        if (!isChannel(channel)) return false;
        this.reader(channel).end();
        return true;
      case FRAME.credit:
        if (!isChannel(channel) || frame.payload.length !== 5) return false;
        this.credit(channel).give(frame.payload.readUInt32LE(1));
        return true;
      case FRAME.message:
        return this.deliver(decode(frame.payload));
      case FRAME.result:
        this.settle(decode(frame.payload));
        return true;
      case FRAME.cancel:
        this.giveUp(new ConnectionLost('the caller gave up'));
        return true;
      default:
        return false;
    }
  }

  lost(error: ConnectionLost): void {
    if (this.closed) return;
    this.outcome.reject(error);
    this.close();
    this.giveUp(error);
  }

  private giveUp(error: ConnectionLost): void {
    this.loss = error;
    for (const reader of this.readers.values()) reader.fail(error);
    this.aborter.abort();
  }

  private settle(document: Document): void {
    for (const reader of this.readers.values()) reader.end();
    this.outcome.resolve(document);
    this.close();
  }

  private deliver(message: Document): boolean {
    if (this.listener) this.listener(message);
    else if (this.pending.push(message) > MESSAGES_PENDING_MAX) return false;
    return true;
  }

  private close(): void {
    this.closed = true;
    for (const credit of this.credits.values()) credit.close();
    this.mux.forget(this.id);
  }

  private credit(channel: Channel): SendCredit {
    let credit = this.credits.get(channel);
    if (!credit) {
      credit = new SendCredit();
      if (this.closed) credit.close();
      this.credits.set(channel, credit);
    }
    return credit;
  }

  private grant(channel: Channel, bytes: number): void {
    if (this.closed) return;
    const payload = Buffer.allocUnsafe(5);
    payload[0] = channel;
    payload.writeUInt32LE(bytes, 1);
    void this.mux.write(FRAME.credit, this.id, payload);
  }
}

export const encode = (document: Document): Buffer => {
  const bytes = Buffer.from(JSON.stringify(document));
  if (bytes.length > FRAME_DATA_BYTES_MAX) throw new Error('a control document is too large');
  return bytes;
};

export const decode = (payload: Buffer): Document => {
  const value: unknown = JSON.parse(payload.toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('a control document is not an object');
  }
  return value as Document;
};
