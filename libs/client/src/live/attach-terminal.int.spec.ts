import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TERMINAL_PROTOCOL, type TerminalFrame } from '@hangar/contracts';
import { eventually } from '@hangar/testing';
import { WebSocketServer, type WebSocket } from 'ws';
import { TERMINAL_ACK_BYTES, TERMINAL_TRIES_MAX, TERMINAL_TYPED_BYTES_MAX } from '../bounds.ts';
import { createHangarClient } from '../client.ts';
import type { AttachedTerminal, AttachOptions } from './attach-terminal.ts';

const RETRY_MS = 5;
const TOKEN = 'key=+/(1)';

/** A terminal of so many bytes, served to whoever connects as a test has it. */
class Served {
  readonly server = new WebSocketServer({ port: 0, handleProtocols: () => TERMINAL_PROTOCOL });
  readonly connections: { socket: WebSocket; from: number; query: URLSearchParams }[] = [];
  readonly requests: { type: string; [name: string]: unknown }[] = [];
  readonly protocols: string[] = [];
  typed = '';

  constructor(serve: (socket: WebSocket, from: number, count: number) => void) {
    this.server.on('connection', (socket, request) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      const from = Number(query.get('from'));
      this.connections.push({ socket, from, query });
      this.protocols.push(String(request.headers['sec-websocket-protocol']));
      socket.on('message', (message: Buffer, isBinary) => {
        if (isBinary) this.typed += message.toString();
        else this.requests.push(JSON.parse(message.toString()) as { type: string });
      });
      serve(socket, from, this.connections.length);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const client of this.server.clients) client.terminate();
    this.server.close();
    await once(this.server, 'close');
  }
}

const tell = (socket: WebSocket, frame: TerminalFrame): void => socket.send(JSON.stringify(frame));
const attachedAt = (offset: number, lost = false): TerminalFrame => ({
  type: 'attached',
  offset,
  lost,
  cols: 80,
  rows: 24,
});
const exit: TerminalFrame = { type: 'exit', exit_code: 3, reason: null };
const problem = (code: 'conflict' | 'unavailable'): TerminalFrame => ({
  type: 'error',
  problem: {
    type: 't',
    title: 't',
    status: 409,
    code,
    detail: 'no',
    instance: '/',
    request_id: 'r',
  },
});

let served: Served | undefined;
let shown = '';
let states: string[] = [];
let lost: number[] = [];
beforeEach(() => {
  shown = '';
  states = [];
  lost = [];
});
afterEach(() => served?.close());

function attach(
  serve: (socket: WebSocket, from: number, count: number) => void,
  more: Partial<AttachOptions> = {},
): AttachedTerminal {
  served = new Served(serve);
  const client = createHangarClient({ url: served.url, token: TOKEN, retryMs: RETRY_MS });
  return client.terminals.attach('csv-fix', 'trm-1a2b3c4d', {
    cols: 80,
    rows: 24,
    onOutput: (bytes) => {
      shown += Buffer.from(bytes).toString();
    },
    onState: (state) => void states.push(state),
    onLost: (bytes) => void lost.push(bytes),
    ...more,
  });
}

const TEXT = 'the quick brown fox jumps over the lazy dog';

describe('an attached terminal [X8]', () => {
  it('goes on at its offset when the line breaks: no byte lost, none twice', async () => {
    const attached = attach((socket, from, count) => {
      tell(socket, attachedAt(from));
      // Each connection breaks a little later than the one before it.
      socket.send(Buffer.from(TEXT.slice(from, from + 7 * count)), () => {
        if (from + 7 * count < TEXT.length) socket.terminate();
        else tell(socket, exit);
      });
    });
    expect(await attached.ended).toEqual({ kind: 'exit', exitCode: 3, reason: null });
    expect(shown).toBe(TEXT);
    expect(states.filter((state) => state === 'reconnecting').length).toBeGreaterThan(1);
    expect(states.at(-1)).toBe('ended');
    expect(attached.offset).toBe(TEXT.length);
    expect(lost).toEqual([]);
    expect(served?.protocols[0]).toBe('hangar.terminal.v1, hangar.token.key%3D%2B%2F%281%29');
  });

  it('says how much is not kept any more', async () => {
    const attached = attach(
      (socket) => {
        tell(socket, attachedAt(100, true));
        socket.send(Buffer.from('rest'));
        tell(socket, exit);
      },
      { from: 10 },
    );
    await attached.ended;
    expect(lost).toEqual([90]);
    expect(shown).toBe('rest');
    expect(attached.offset).toBe(104);
  });

  it('acknowledges what was taken, and not what only came', async () => {
    const taken = Promise.withResolvers<void>();
    const attached = attach(
      (socket) => {
        tell(socket, attachedAt(0));
        socket.send(Buffer.alloc(TERMINAL_ACK_BYTES, 'x'));
      },
      { onOutput: () => taken.promise },
    );
    await eventually(() => attached.offset === TERMINAL_ACK_BYTES);
    expect(served?.requests).toEqual([]);
    taken.resolve();
    await eventually(() => served?.requests.length === 1);
    expect(served?.requests).toEqual([{ type: 'ack', offset: TERMINAL_ACK_BYTES }]);
    attached.detach();
    expect(await attached.ended).toEqual({ kind: 'detached' });
  });

  it('what is typed while the line is broken is sent once, in order, up to a bound', async () => {
    let letIn = (): void => undefined;
    const attached = attach((socket, from, count) => {
      if (count === 2) return socket.terminate();
      // Connected again, and not let in until the test has typed.
      if (count === 3) return void (letIn = () => tell(socket, attachedAt(from)));
      tell(socket, attachedAt(from));
      socket.once('message', () => socket.terminate());
    });
    await eventually(() => attached.state === 'attached');
    attached.write(Buffer.from('a'));
    await eventually(() => served?.connections.length === 3);
    expect(attached.state).toBe('reconnecting');
    expect(attached.write(Buffer.from('b'))).toBe(true);
    attached.resize(100, 30);
    expect(attached.write(Buffer.from('c'))).toBe(true);
    expect(attached.write(Buffer.alloc(TERMINAL_TYPED_BYTES_MAX))).toBe(false);
    letIn();
    await eventually(() => served?.typed === 'abc');
    const told = (): boolean =>
      served?.connections.at(-1)?.query.get('cols') === '100' ||
      served?.requests.some(({ type, cols }) => type === 'resize' && cols === 100) === true;
    await eventually(told);
    attached.detach();
  });

  it('is over when the server does not let it in, and tried again when that passes', async () => {
    const attached = attach((socket, _from, count) => {
      tell(socket, problem(count < 3 ? 'unavailable' : 'conflict'));
      socket.close(4409);
    });
    const end = await attached.ended;
    expect(end).toMatchObject({ kind: 'refused', error: { code: 'conflict', message: 'no' } });
    expect(served?.connections).toHaveLength(3);
    expect(attached.write(Buffer.from('x'))).toBe(false);
  });

  it('gives up after so many tries in a row that brought nothing', async () => {
    const attached = attach((socket) => socket.terminate());
    expect(await attached.ended).toMatchObject({ kind: 'refused', error: { code: 'unavailable' } });
    expect(served?.connections).toHaveLength(TERMINAL_TRIES_MAX);
  });

  it('leaves while it is coming back, and connects no more', async () => {
    const attached = attach((socket) => socket.terminate());
    await eventually(() => attached.state === 'reconnecting');
    attached.detach();
    const before = served?.connections.length ?? 0;
    expect(await attached.ended).toEqual({ kind: 'detached' });
    // Another one has tried all its times: by then the first would have come, too.
    const url = served?.url ?? '';
    const other = createHangarClient({ url, retryMs: RETRY_MS }).terminals;
    await other.attach('other', 'trm-1a2b3c4d', { cols: 80, rows: 24, onOutput: () => undefined })
      .ended;
    expect(served?.connections).toHaveLength(before + TERMINAL_TRIES_MAX);
  });
});
