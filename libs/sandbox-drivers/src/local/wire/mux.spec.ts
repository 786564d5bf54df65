import { Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { CHANNEL_WINDOW_BYTES } from './channel.ts';
import { encodeFrameHeader, FRAME, FrameParser, type FrameType } from './frames.ts';
import { CHANNEL, ConnectionLost, type MuxStream } from './mux-stream.ts';
import { HEADER_BYTES_MAX, Mux } from './mux.ts';

/** Two ends of a connection in memory. */
const connect = (): [Duplex, Duplex] => {
  const there = new PassThrough();
  const back = new PassThrough();
  const end = (readable: PassThrough, writable: PassThrough): Duplex =>
    Duplex.from({ readable, writable });
  return [end(back, there), end(there, back)];
};

const openPair = (
  serve: (stream: MuxStream, header: Record<string, unknown>) => void,
): { client: Mux; closed: Promise<void> } => {
  const [near, far] = connect();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const server = new Mux(far, { hello: () => undefined, open: serve, close });
  const client = new Mux(near, { hello: () => undefined, close: () => undefined });
  client.greet({});
  server.greet({});
  return { client, closed };
};

describe('streams on one connection', () => {
  it('carries a long header, three channels, messages and a result', async () => {
    const long = 'x'.repeat(500_000);
    const { client } = openPair((stream, header) => {
      void (async () => {
        stream.send({ began: true });
        const body = await text(stream.readable(CHANNEL.in));
        await stream.write(CHANNEL.out, Buffer.from(body.toUpperCase()));
        await stream.write(CHANNEL.err, Buffer.from(String((header.argument as string).length)));
        stream.finish({ done: true });
      })();
    });
    const stream = client.open({ argument: long });
    const message = new Promise((resolve) => stream.onMessage(resolve));
    await stream.write(CHANNEL.in, Buffer.from('body'));
    stream.end(CHANNEL.in);
    expect(await message).toEqual({ began: true });
    expect(await text(stream.readable(CHANNEL.out))).toBe('BODY');
    expect(await text(stream.readable(CHANNEL.err))).toBe('500000');
    expect(await stream.result).toEqual({ done: true });
    expect(client.streamCount).toBe(0);
  });

  it('a writer waits when nobody reads, and its neighbour does not', async () => {
    let written = 0;
    const { client } = openPair((stream, header) => {
      void (async () => {
        for (let chunk = 0; chunk < Number(header.chunks); chunk++) {
          if (!(await stream.write(CHANNEL.out, Buffer.alloc(16 * 1024)))) return;
          if (header.stalled === true) written += 16 * 1024;
        }
        stream.finish({ done: true });
      })();
    });
    const stalled = client.open({ chunks: 1000, stalled: true });
    const other = client.open({ chunks: 100 });
    let bytes = 0;
    for await (const chunk of other.readable(CHANNEL.out)) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(100 * 16 * 1024);
    expect(written).toBeLessThanOrEqual(CHANNEL_WINDOW_BYTES);
    bytes = 0;
    for await (const chunk of stalled.readable(CHANNEL.out)) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(1000 * 16 * 1024);
  });

  it('a destroyed reader lets the writer go on', async () => {
    const { client } = openPair((stream) => {
      void (async () => {
        for (let chunk = 0; chunk < 100; chunk++) {
          await stream.write(CHANNEL.out, Buffer.alloc(64 * 1024));
        }
        stream.finish({ done: true });
      })();
    });
    const stream = client.open({});
    stream.readable(CHANNEL.out).destroy();
    expect(await stream.result).toEqual({ done: true });
    await stream.reader(CHANNEL.out).drained;
  });

  it('a lost connection fails results and readers, and nothing else is thrown', async () => {
    const { client } = openPair(() => undefined);
    const stream = client.open({});
    const reading = text(stream.readable(CHANNEL.out));
    reading.catch(() => undefined);
    client.destroy();
    await expect(stream.result).rejects.toBeInstanceOf(ConnectionLost);
    await expect(reading).rejects.toBeInstanceOf(ConnectionLost);
    expect(await stream.write(CHANNEL.in, Buffer.from('x'))).toBe(false);
    await expect(client.open({}).result).rejects.toBeInstanceOf(ConnectionLost);
  });

  it('a cancelled stream tells the other side', async () => {
    const cancelled = Promise.withResolvers<void>();
    const { client } = openPair((stream) => {
      stream.cancelled.addEventListener('abort', () => cancelled.resolve());
    });
    client.open({}).cancel();
    await expect(cancelled.promise).resolves.toBeUndefined();
  });

  it('refuses a header that is too long before it is sent', () => {
    const { client } = openPair(() => undefined);
    expect(() => client.open({ argument: 'x'.repeat(HEADER_BYTES_MAX) })).toThrow(RangeError);
  });
});

describe('a peer that breaks the rules', () => {
  const frame = (type: number, stream: number, payload: Uint8Array): Buffer =>
    Buffer.concat([encodeFrameHeader(type as FrameType, stream, payload.length), payload]);
  const hello = frame(FRAME.hello, 0, Buffer.from('{}'));
  const open = frame(FRAME.open, 1, Buffer.from('{}'));
  const data = (bytes: number): Buffer =>
    frame(FRAME.data, 1, Buffer.concat([Buffer.from([CHANNEL.in]), Buffer.alloc(bytes)]));
  const huge = Buffer.alloc(9);
  huge.writeUInt32LE(0xffffffff, 0);

  it.each<[string, Buffer[]]>([
    ['says no hello', [open]],
    ['announces four gigabytes', [hello, huge]],
    ['uses an unknown type', [hello, frame(99, 1, Buffer.alloc(1))]],
    ['sends no JSON', [hello, frame(FRAME.open, 1, Buffer.from('not json'))]],
    ['sends JSON that is no object', [hello, frame(FRAME.open, 1, Buffer.from('[1]'))]],
    ['opens a stream twice', [hello, open, open]],
    ['uses an unknown channel', [hello, open, frame(FRAME.end, 1, Buffer.from([7]))]],
    ['sends more than its credit', [hello, open, ...Array.from({ length: 5 }, () => data(64_000))]],
    ['sends after its end', [hello, open, frame(FRAME.end, 1, Buffer.from([0])), data(1)]],
    ['cuts a credit short', [hello, open, frame(FRAME.credit, 1, Buffer.from([1, 0]))]],
  ])('loses its connection when it %s', async (_name, frames) => {
    const closed = Promise.withResolvers<string>();
    // The peer stays connected: only the broken rule can end it.
    const readable = new PassThrough();
    const socket = Duplex.from({ readable, writable: new PassThrough() });
    const mux = new Mux(socket, {
      hello: () => undefined,
      open: (stream) => void stream.reader(CHANNEL.in),
      close: () => closed.resolve('closed'),
    });
    for (const bytes of frames) readable.write(bytes);
    expect(await closed.promise).toBe('closed');
    expect(mux.alive).toBe(false);
  });

  it('cuts frames wherever the bytes were cut', () => {
    const bytes = Buffer.concat([hello, open, data(1000)]);
    for (const step of [1, 7, 500]) {
      const parser = new FrameParser();
      const frames = [];
      for (let offset = 0; offset < bytes.length; offset += step) {
        frames.push(...parser.push(bytes.subarray(offset, offset + step)));
      }
      expect(frames.map(({ type, payload }) => [type, payload.length])).toEqual([
        [FRAME.hello, 2],
        [FRAME.open, 2],
        [FRAME.data, 1001],
      ]);
    }
  });
});
