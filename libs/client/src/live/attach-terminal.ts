import {
  HangarError,
  TERMINAL_MESSAGE_BYTES_MAX,
  TERMINAL_PROTOCOL,
  TERMINAL_TOKEN_PREFIX,
  terminalFrameSchema,
  type TerminalFrame,
  type TerminalRequest,
} from '@hangar/contracts';
import {
  STREAM_RETRY_MS_FIRST,
  STREAM_RETRY_MS_MAX,
  STREAM_SILENCE_SECONDS_MAX,
  TERMINAL_ACK_BYTES,
  TERMINAL_TRIES_MAX,
  TERMINAL_TYPED_BYTES_MAX,
} from '../bounds.ts';
import { backoffMs } from '../http/pause.ts';

export type TerminalState = 'connecting' | 'attached' | 'reconnecting' | 'ended';

export type TerminalEnd =
  /** The process ended; `reason` says how when there is no exit code. */
  | { kind: 'exit'; exitCode: number | null; reason: string | null }
  /** The server does not let this viewer in, or cannot be reached any more (`unavailable`). */
  | { kind: 'refused'; error: HangarError }
  | { kind: 'detached' };

export interface AttachOptions {
  cols: number;
  rows: number;
  /** Offset of the first byte that is wanted; the beginning of what is kept when left out. */
  from?: number;
  /** Each byte once, in order. The server waits for what is not taken yet. */
  onOutput(bytes: Uint8Array): void | Promise<void>;
  onState?(state: TerminalState, reason: string): void;
  /** The terminal's size now: that of the viewer who did something last. */
  onSize?(size: { cols: number; rows: number }): void;
  /** So many bytes are not kept any more: what follows has a gap before it. */
  onLost?(bytes: number): void;
}

export interface AttachedTerminal {
  readonly state: TerminalState;
  /** Offset of the next byte. */
  readonly offset: number;
  /** False when it was not taken: too much waits for the line, or the terminal has ended. */
  write(bytes: Uint8Array): boolean;
  resize(cols: number, rows: number): void;
  /** Leaves; the terminal goes on. */
  detach(): void;
  readonly ended: Promise<TerminalEnd>;
}

interface Address {
  url: string;
  token: string | undefined;
  /** Between tries; tests shorten it. */
  pause?: { firstMs: number; maxMs: number };
}

const PAUSE = { firstMs: STREAM_RETRY_MS_FIRST, maxMs: STREAM_RETRY_MS_MAX };

export const attachTerminal = (address: Address, options: AttachOptions): AttachedTerminal =>
  new Attachment(address, options);

/** Subprotocols are tokens of HTTP: no parentheses, no quotes. */
const escaped = (token: string): string =>
  encodeURIComponent(token).replace(/[()]/g, (c) => (c === '(' ? '%28' : '%29'));

/** One place in one terminal, over as many connections as it takes. */
class Attachment implements AttachedTerminal {
  readonly #address: Address;
  readonly #options: AttachOptions;
  readonly #end = Promise.withResolvers<TerminalEnd>();
  #state: TerminalState = 'connecting';
  #socket: WebSocket | null = null;
  #size: { cols: number; rows: number };
  #received: number;
  #taken: number;
  #acked: number;
  #taking: Promise<void> = Promise.resolve();
  #typed: Uint8Array[] = [];
  #fruitless = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(address: Address, options: AttachOptions) {
    this.#address = address;
    this.#options = options;
    const { cols, rows, from = 0 } = options;
    this.#size = { cols, rows };
    this.#received = from;
    this.#taken = from;
    this.#acked = from;
    this.#connect();
  }

  get state(): TerminalState {
    return this.#state;
  }

  get offset(): number {
    return this.#received;
  }

  get ended(): Promise<TerminalEnd> {
    return this.#end.promise;
  }

  write(bytes: Uint8Array): boolean {
    if (this.#state === 'ended') return false;
    if (this.#state === 'attached') {
      this.#sendTyped(bytes);
      return true;
    }
    const waiting = this.#typed.reduce((sum, each) => sum + each.byteLength, 0);
    if (waiting + bytes.byteLength > TERMINAL_TYPED_BYTES_MAX) return false;
    this.#typed.push(bytes.slice());
    return true;
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows };
    if (this.#state === 'attached') this.#ask({ type: 'resize', cols, rows });
  }

  detach(): void {
    this.#finish({ kind: 'detached' });
  }

  #connect(): void {
    const { cols, rows } = this.#size;
    const query = new URLSearchParams({
      from: String(this.#received),
      cols: String(cols),
      rows: String(rows),
    });
    const url = `${this.#address.url.replace(/^http/, 'ws')}?${query.toString()}`;
    const { token } = this.#address;
    const protocols = [
      TERMINAL_PROTOCOL,
      ...(token ? [`${TERMINAL_TOKEN_PREFIX}${escaped(token)}`] : []),
    ];
    const socket = new WebSocket(url, protocols);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    this.#hear();
    socket.addEventListener('message', ({ data }) => {
      // A connection that was given up says nothing any more.
      if (this.#socket !== socket) return;
      this.#hear();
      if (typeof data === 'string') this.#told(data);
      else this.#output(new Uint8Array(data as ArrayBuffer));
    });
    socket.addEventListener('close', ({ reason }) => this.#lost(socket, reason));
    // `close` follows.
    socket.addEventListener('error', () => undefined);
  }

  /** Without a sign of life the line is taken for dead, whatever the browser thinks of it. */
  #hear(): void {
    clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#silence = setTimeout(() => {
      if (!socket) return;
      this.#lost(socket, 'the line fell silent');
      socket.close();
    }, STREAM_SILENCE_SECONDS_MAX * 1000);
  }

  #lost(socket: WebSocket, reason: string): void {
    if (this.#socket !== socket || this.#state === 'ended') return;
    this.#socket = null;
    clearTimeout(this.#silence);
    this.#fruitless += 1;
    const why = reason || 'the line broke';
    if (this.#fruitless >= TERMINAL_TRIES_MAX) {
      const error = new HangarError('unavailable', `The terminal is out of reach: ${why}.`, {
        hint: 'It goes on in the sandbox; attach to it again later.',
      });
      return this.#finish({ kind: 'refused', error });
    }
    this.#is('reconnecting', why);
    const { firstMs, maxMs } = this.#address.pause ?? PAUSE;
    const ms = backoffMs(this.#fruitless - 1, firstMs, maxMs);
    this.#timer = setTimeout(() => this.#connect(), ms);
  }

  #told(text: string): void {
    const frame = frameOf(text);
    switch (frame?.type) {
      case 'attached':
        return this.#attached(frame);
      case 'resized':
        return this.#options.onSize?.({ cols: frame.cols, rows: frame.rows });
      case 'exit': {
        const { exit_code: exitCode, reason } = frame;
        // What it printed before is shown before.
        void this.#taking.then(() => this.#finish({ kind: 'exit', exitCode, reason }));
        return;
      }
      case 'error':
        return this.#refused(frame.problem);
      default:
    }
  }

  #attached(frame: Extract<TerminalFrame, { type: 'attached' }>): void {
    const { offset, lost, cols, rows } = frame;
    if (lost) this.#options.onLost?.(offset - this.#received);
    // Bytes are counted by the server: what waits to be taken was before this offset.
    const gap = offset - this.#received;
    this.#received = offset;
    this.#taken += gap;
    this.#acked = this.#taken;
    this.#fruitless = 0;
    this.#is('attached', lost ? 'some of the output is not kept any more' : '');
    this.#options.onSize?.({ cols, rows });
    const { cols: own, rows: ownRows } = this.#size;
    if (own !== cols || ownRows !== rows) this.resize(own, ownRows);
    for (const bytes of this.#typed.splice(0)) this.#sendTyped(bytes);
  }

  #refused(problem: {
    code: HangarError['code'];
    detail: string;
    hint?: string | undefined;
  }): void {
    const { code, detail, hint } = problem;
    // These pass by themselves; the server closes the connection behind them.
    if (code === 'unavailable' || code === 'exhausted' || code === 'internal') return;
    const error = new HangarError(code, detail, hint === undefined ? {} : { hint });
    this.#finish({ kind: 'refused', error });
  }

  #output(bytes: Uint8Array): void {
    this.#received += bytes.byteLength;
    this.#taking = this.#taking
      .then(() => this.#options.onOutput(bytes))
      .then(
        () => this.#took(bytes.byteLength),
        (cause: unknown) => {
          const error = new HangarError('internal', 'The output could not be shown.', { cause });
          this.#finish({ kind: 'refused', error });
        },
      );
  }

  #took(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken - this.#acked < TERMINAL_ACK_BYTES || this.#state !== 'attached') return;
    this.#acked = this.#taken;
    this.#ask({ type: 'ack', offset: this.#taken });
  }

  #sendTyped(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; at += TERMINAL_MESSAGE_BYTES_MAX) {
      this.#socket?.send(bytes.slice(at, at + TERMINAL_MESSAGE_BYTES_MAX));
    }
  }

  #ask(request: TerminalRequest): void {
    this.#socket?.send(JSON.stringify(request));
  }

  #is(state: TerminalState, reason: string): void {
    this.#state = state;
    this.#options.onState?.(state, reason);
  }

  #finish(end: TerminalEnd): void {
    if (this.#state === 'ended') return;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#is('ended', '');
    this.#end.resolve(end);
  }
}

function frameOf(text: string): TerminalFrame | null {
  try {
    // Frames of a newer server that are not known say nothing here.
    return terminalFrameSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
