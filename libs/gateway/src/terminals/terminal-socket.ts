import {
  HangarError,
  TERMINAL_UNACKED_BYTES_MAX,
  terminalRequestSchema,
  type TerminalFrame,
} from '@hangar/contracts';
import type { ExitStatus, TerminalView } from '@hangar/sandbox-drivers';
import type { RawData, WebSocket } from 'ws';

/** A viewer that did not answer to the ping before is gone; its token is looked at as often. */
const HEARTBEAT_MS = 15_000;
/** Messages of a viewer that wait for the terminal; more are not read from it. */
const WAITING_MAX = 32;
const CLOSE_ENDED = 1000;
/** The way to the sandbox was lost, and not the terminal. */
const CLOSE_TRY_AGAIN = 1013;

export interface SocketOptions {
  /** The offset that was asked for. */
  from: number;
  /** Throws when the token does not allow this any more. */
  isAllowed(): Promise<unknown>;
  heartbeatMs?: number;
}

/** Joins one viewer and its terminal, until one of them leaves. */
export async function serveTerminal(
  socket: WebSocket,
  view: TerminalView,
  options: SocketOptions,
): Promise<void> {
  const joined = new JoinedViewer(socket, view, options);
  try {
    await joined.run();
  } finally {
    await joined.end();
    await view.detach();
  }
}

class JoinedViewer {
  readonly #socket: WebSocket;
  readonly #view: TerminalView;
  readonly #options: SocketOptions;
  readonly #heartbeat: NodeJS.Timeout;
  /** Why it ends before the terminal does. */
  readonly #failed = Promise.withResolvers<never>();
  readonly #left = Promise.withResolvers<void>();
  #acked: number;
  #sent: number;
  #wake: (() => void) | undefined;
  #waiting = 0;
  #handled: Promise<void> = Promise.resolve();
  #isAlive = true;

  constructor(socket: WebSocket, view: TerminalView, options: SocketOptions) {
    this.#socket = socket;
    this.#view = view;
    this.#options = options;
    this.#acked = view.offset;
    this.#sent = view.offset;
    this.#failed.promise.catch(() => undefined);
    socket.on('message', (message, isBinary) => this.#receive(message, isBinary));
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    socket.once('close', () => {
      this.#left.resolve();
      this.#wake?.();
    });
    if (!this.#isOpen) this.#left.resolve();
    this.#heartbeat = setInterval(() => this.#beat(), options.heartbeatMs ?? HEARTBEAT_MS);
    socket.resume();
  }

  async run(): Promise<void> {
    const { offset, cols, rows } = this.#view;
    this.#tell({ type: 'attached', offset, lost: offset > this.#options.from, cols, rows });
    this.#view.onResize((size) => this.#tell({ type: 'resized', ...size }));
    await Promise.race([this.#show(), this.#failed.promise, this.#left.promise]);
  }

  /** What was typed before it left goes to the terminal. */
  async end(): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.#handled;
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  async #show(): Promise<void> {
    try {
      for await (const chunk of this.#view.output) {
        const bytes = chunk as Buffer;
        while (this.#isOpen && this.#sent - this.#acked > TERMINAL_UNACKED_BYTES_MAX) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
        if (!this.#isOpen) return;
        this.#sent += bytes.byteLength;
        this.#socket.send(bytes);
      }
    } catch (error) {
      if (!this.#isOpen) return;
      throw error;
    }
    const exit = await this.#view.exit;
    if (exit.kind === 'connection_lost') return this.#socket.close(CLOSE_TRY_AGAIN, 'come back');
    this.#tell({ type: 'exit', ...inWords(exit) });
    this.#socket.close(CLOSE_ENDED, 'the terminal has ended');
  }

  #tell(frame: TerminalFrame): void {
    if (this.#isOpen) this.#socket.send(JSON.stringify(frame));
  }

  #beat(): void {
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
    // Pages of a browser see no pings: this is how they know that the line works.
    this.#tell({ type: 'here' });
    this.#options.isAllowed().catch((error: unknown) => {
      // Nobody could be asked: what was allowed a moment ago is not cut for that.
      if (HangarError.from(error).code === 'unavailable') return;
      this.#failed.reject(error);
    });
  }

  /** One after the other; when too many wait, the next are left in the connection. */
  #receive(message: RawData, isBinary: boolean): void {
    this.#waiting += 1;
    if (this.#waiting >= WAITING_MAX) this.#socket.pause();
    const bytes = bytesOf(message);
    this.#handled = this.#handled
      .then(() => (isBinary ? this.#view.write(bytes) : this.#ask(bytes.toString('utf8'))))
      .catch((error: unknown) => this.#failed.reject(error))
      .then(() => {
        this.#waiting -= 1;
        if (this.#waiting < WAITING_MAX) this.#socket.resume();
      });
  }

  async #ask(text: string): Promise<void> {
    const request = terminalRequestSchema.safeParse(parsed(text));
    if (!request.success) {
      throw new HangarError('invalid', 'This is no message that a terminal knows.', {
        hint: 'docs/formats/terminals.md has the frames.',
      });
    }
    const { data } = request;
    if (data.type === 'resize') return this.#view.resize(data.cols, data.rows);
    this.#acked = Math.max(this.#acked, Math.min(data.offset, this.#sent));
    this.#wake?.();
  }
}

const bytesOf = (message: RawData): Buffer => {
  if (Buffer.isBuffer(message)) return message;
  return Array.isArray(message) ? Buffer.concat(message) : Buffer.from(message);
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function inWords(exit: ExitStatus): { exit_code: number | null; reason: string | null } {
  switch (exit.kind) {
    case 'exited':
      return { exit_code: exit.code, reason: null };
    case 'signalled':
      return { exit_code: null, reason: `ended by ${exit.signal}` };
    case 'sandbox_gone':
      return { exit_code: null, reason: 'the sandbox is gone' };
    default:
      return { exit_code: null, reason: exit.kind };
  }
}
