import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { WebSocketServer, type WebSocket } from 'ws';
import { runCommand, type Ran, type RunSetting } from '../../testing/run-command.ts';
import { session } from '../../testing/sample-documents.ts';

const ID = 'trm-1a2b3c4d';
const RESET =
  '\u001b[?25h\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[0m\r\n';

/** A server with one session and its terminals, and what is typed in the one that is attached. */
class Fake {
  readonly asked: string[] = [];
  readonly sizes: string[] = [];
  terminals: object[] = [];
  state = 'IDLE';
  typed = '';
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: ([first]) => first ?? false,
  });

  private constructor(play: (socket: WebSocket, fake: Fake) => void) {
    this.#server = createServer((request, answer) => {
      const at = `${request.method} ${request.url?.split('?', 1)[0]}`;
      this.asked.push(at);
      let body = '';
      request.on('data', (piece: Buffer) => {
        body += piece.toString();
      });
      request.on('end', () => {
        answer.setHeader('content-type', 'application/json');
        answer.end(JSON.stringify(this.#answer(at, body)));
      });
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.asked.push(`attach ${request.url?.split('/')[5]}`);
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      this.sizes.push(`${query.get('cols')}x${query.get('rows')}`);
      this.#sockets.handleUpgrade(request, socket, head, (open) => {
        open.on('message', (message: Buffer, isBinary) => {
          if (isBinary) this.typed += message.toString();
        });
        play(open, this);
      });
    });
  }

  static async start(play: (socket: WebSocket, fake: Fake) => void): Promise<Fake> {
    const fake = new Fake(play);
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #answer(at: string, body: string): object {
    if (at === 'GET /api/sessions/csv-fix') return session({ state: this.state as 'IDLE' });
    if (at.startsWith('GET') && at.endsWith('/terminals')) return { items: this.terminals };
    if (at.startsWith('POST') && at.endsWith('/terminals')) {
      this.asked.push(body);
      return { id: ID };
    }
    return session({});
  }

  async close(): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const tell = (socket: WebSocket, frame: object): void => socket.send(JSON.stringify(frame));
const attached = (socket: WebSocket): void =>
  tell(socket, { type: 'attached', offset: 0, lost: false, cols: 100, rows: 30 });

let fake: Fake | undefined;
afterEach(() => fake?.close());

let isRaw = false;
/** A person at a screen, who types once the screen shows what is waited for. */
async function attach(
  more: string[],
  typing: { after: string; text: string } | null,
  setting: RunSetting = {},
): Promise<Ran> {
  let type: ((text: string) => void) | undefined;
  let isTyped = false;
  return runCommand(['session', 'attach', 'csv-fix', ...more], {
    url: fake?.url ?? '',
    tty: true,
    keys: (typed) => {
      isRaw = true;
      type = typed;
      return () => {
        isRaw = false;
      };
    },
    onStdout: (text) => {
      if (!typing || isTyped || !text.includes(typing.after)) return;
      isTyped = true;
      type?.(typing.text);
    },
    ...setting,
  });
}

const running = { kind: 'shell', state: 'running', viewers: 0 };

describe('session attach', () => {
  it('opens a shell of the size of the screen, and ends with its exit code', async () => {
    fake = await Fake.start((socket) => {
      attached(socket);
      socket.send(Buffer.from('$ '));
      socket.once('message', () => tell(socket, { type: 'exit', exit_code: 7, reason: null }));
    });
    const ran = await attach([], { after: '$ ', text: 'exit 7\r' });
    expect(ran.code).toBe(7);
    expect(fake.typed).toBe('exit 7\r');
    expect(fake.asked).toContain('{"kind":"shell","cols":100,"rows":30}');
    expect(fake.sizes).toEqual(['100x30']);
    expect(ran.err).toContain('Ctrl-\\ leaves it');
    expect(ran.out.endsWith(RESET)).toBe(true);
    expect(isRaw).toBe(false);
  });

  it('Ctrl-\\ leaves it, what was typed before is sent, and the screen is given back', async () => {
    const heard = Promise.withResolvers<void>();
    fake = await Fake.start((socket) => {
      attached(socket);
      socket.send(Buffer.from('\u001b[?1049h~ editor ~'));
      socket.once('message', () => heard.resolve());
    });
    const ran = await attach([], { after: 'editor', text: 'ab\u001ccd' });
    await heard.promise;
    expect(ran.code).toBe(0);
    expect(fake.typed).toBe('ab');
    expect(ran.out.endsWith(`\u001b[?1049l${RESET}`)).toBe(true);
    expect(ran.err).toContain(`hangar session attach csv-fix --terminal ${ID}`);
    expect(isRaw).toBe(false);
  });

  it('goes on in the newest shell that nobody looks at', async () => {
    fake = await Fake.start((socket) => {
      attached(socket);
      tell(socket, { type: 'exit', exit_code: 0, reason: null });
    });
    fake.terminals = [
      { ...running, id: 'trm-0000000a' },
      { ...running, id: 'trm-0000000b' },
      { ...running, id: 'trm-0000000c', viewers: 1 },
      { ...running, id: 'trm-0000000d', state: 'ended' },
      { ...running, id: 'trm-0000000e-1', kind: 'agent' },
    ];
    await attach([], null);
    await attach(['--new'], null);
    await attach(['--agent'], null);
    await attach(['--terminal', 'trm-0000000c'], null);
    const seen = fake.asked.filter((each) => each.startsWith('attach'));
    expect(seen).toEqual(
      ['trm-0000000b', ID, 'trm-0000000e-1', 'trm-0000000c'].map((id) => `attach ${id}`),
    );
  });

  it('a line that breaks is said, and gone on with', async () => {
    let connections = 0;
    fake = await Fake.start((socket) => {
      connections += 1;
      tell(socket, {
        type: 'attached',
        offset: connections === 1 ? 0 : 5,
        lost: false,
        cols: 1,
        rows: 1,
      });
      socket.send(Buffer.from(connections === 1 ? 'first' : 'second'), () => {
        if (connections === 1) socket.terminate();
        else tell(socket, { type: 'exit', exit_code: 0, reason: null });
      });
    });
    const ran = await attach([], null);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain('firstsecond');
    expect(ran.err).toContain('trying again');
    expect(ran.err).toContain('back again');
  });

  it('resumes nothing by itself: a person is asked, or says --open', async () => {
    fake = await Fake.start((socket) => {
      attached(socket);
      tell(socket, { type: 'exit', exit_code: 0, reason: null });
    });
    fake.state = 'SUSPENDED';
    const refused = await attach([], null, { answer: 'n' });
    expect(refused.code).toBe(2);
    expect(refused.questions).toEqual(['Session csv-fix is SUSPENDED. Open it? [y/N] ']);
    expect(fake.asked.filter((at) => at.includes('/open'))).toEqual([]);
    expect((await attach(['--open'], null)).code).toBe(0);
    expect(fake.asked.filter((at) => at.includes('/open'))).toHaveLength(1);
  });

  it('says why the server lets nobody in, and why a terminal without an exit code ended', async () => {
    const detail = 'Session csv-fix has no terminal trm-1a2b3c4d.';
    const problem = { type: 't', title: 't', status: 404, instance: '/', request_id: 'r' };
    fake = await Fake.start((socket) => {
      tell(socket, { type: 'error', problem: { ...problem, code: 'not_found', detail } });
    });
    const refused = await attach([], null);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(detail);
    await fake.close();
    fake = await Fake.start((socket) => {
      attached(socket);
      tell(socket, { type: 'exit', exit_code: null, reason: 'the sandbox is gone' });
    });
    const gone = await attach([], null);
    expect(gone.code).toBe(1);
    expect(gone.err).toContain('the sandbox is gone');
  });

  it('needs a screen, and has no JSON', async () => {
    fake = await Fake.start(() => undefined);
    const piped = await attach([], null, { tty: false });
    expect(piped.code).toBe(2);
    expect(piped.err).toContain('hangar session exec');
    const json = await attach(['--json'], null);
    expect(json.code).toBe(2);
    expect(json.err).toContain('session terminals --json');
    expect(fake.asked).toEqual([]);
  });
});
