import { createRequire } from 'node:module';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { SCROLLBACK_BYTES_MAX, VIEWERS_MAX, type TerminalSize } from '../../sandbox-driver.ts';
import { sendSignal, sweepProcesses } from '../process-table.ts';
import { FRAME_DATA_BYTES_MAX } from '../wire/frames.ts';
import { CHANNEL, type MuxStream } from '../wire/mux-stream.ts';
import {
  MARKER,
  type ProcessEnd,
  type ProcessRequest,
  type SandboxdConfig,
} from '../wire/protocol.ts';
import { OperationError } from './operation-error.ts';
import { Scrollback } from './scrollback.ts';
import { offerToOomKiller, prepareProcess } from './spawn.ts';
import { signalName } from './signal-names.ts';

/** What is used of the terminal addon; it is loaded at run time from its own directory. */
interface Pty {
  readonly pid: number;
  onData(listener: (bytes: Buffer | string) => void): void;
  onExit(listener: (end: { exitCode: number; signal?: number }) => void): void;
  write(bytes: Buffer): void;
  resize(cols: number, rows: number): void;
  pause(): void;
  resume(): void;
  kill(signal?: string): void;
  /** The addon's own stream to the terminal; it has no public way to wait until it drained. */
  readonly _socket?: Writable;
}

interface TerminalAddon {
  spawn(
    file: string,
    argv: string[],
    options: {
      cols: number;
      rows: number;
      cwd: string;
      env: Record<string, string>;
      name: string;
      encoding: null;
    },
  ): Pty;
}

/** A terminal whose shell ignores the hang-up is killed after this long. */
const HANGUP_MS = 1000;
/** Output waits for a viewer that is behind by more than this ... */
const BEHIND_BYTES_MAX = SCROLLBACK_BYTES_MAX / 2;
/** ... but not for longer than this: a viewer that takes nothing must not stop the shell. */
const STALLED_MS = 5000;
/** The addon drops what was not taken 200 ms after the end of the process: it must be seen before. */
const HELD_CHECK_MS = 50;

interface Viewer {
  stream: MuxStream;
  /** null: it only watches. */
  size: TerminalSize | null;
  /** Offset of the next byte for it. */
  position: number;
  /** Not waited for until it has caught up. */
  stalled: boolean;
  /** All that it typed was taken, and it is gone. */
  left: boolean;
}

let addon: TerminalAddon | undefined;

const loadAddon = (directory: string | null): TerminalAddon => {
  if (directory === null) {
    throw new OperationError('unavailable', 'this installation has no terminal support');
  }
  addon ??= createRequire(`${directory}/`)('@lydell/node-pty') as TerminalAddon;
  return addon;
};

/** The addon throws when its terminal has ended meanwhile; there is nothing left to do then. */
const tryTo = (action: () => void): void => {
  try {
    action();
  } catch {
    return;
  }
};

/**
 * A process with a terminal, which lives as long as this process does. Its output is always taken,
 * with or without viewers: who waits for it is the viewer, and never the shell for long.
 */
export class Terminal {
  readonly createdAt = new Date();
  readonly scrollback = new Scrollback(SCROLLBACK_BYTES_MAX);
  readonly ended: Promise<ProcessEnd>;
  end: ProcessEnd | null = null;
  size: TerminalSize;
  private readonly pty: Pty;
  private readonly marker: { name: string; value: string };
  /** The one that did something last is the last. */
  private viewers: Viewer[] = [];
  private waiters: (() => void)[] = [];
  private held: NodeJS.Timeout | undefined;
  private typed: Promise<void> = Promise.resolve();

  static async start(
    request: ProcessRequest & TerminalSize,
    config: SandboxdConfig,
  ): Promise<Terminal> {
    const marker = { name: MARKER.exec, value: randomUUID() };
    const terminals = loadAddon(config.ptyDirectory);
    const prepared = await prepareProcess(request, config, { [marker.name]: marker.value });
    if (!prepared.ok) throw new OperationError('invalid', prepared.error);
    const [program, ...rest] = prepared.argv;
    const { cols, rows } = request;
    const pty = terminals.spawn(program, rest, {
      cols,
      rows,
      cwd: prepared.cwd,
      env: prepared.envVars,
      name: prepared.envVars.TERM ?? 'xterm-256color',
      encoding: null,
    });
    void offerToOomKiller(pty.pid);
    return new Terminal(pty, marker, { cols, rows });
  }

  private constructor(pty: Pty, marker: { name: string; value: string }, size: TerminalSize) {
    this.pty = pty;
    this.marker = marker;
    this.size = size;
    pty.onData((data) => this.print(typeof data === 'string' ? Buffer.from(data) : data));
    this.ended = new Promise((resolve) => {
      pty.onExit(({ exitCode, signal }) => {
        this.end = signal
          ? { kind: 'signalled', signal: signalName(signal) }
          : { kind: 'exited', code: exitCode };
        this.wake();
        resolve(this.end);
      });
    });
  }

  get viewerCount(): number {
    return this.viewers.filter(({ size }) => size !== null).length;
  }

  /** Sends what it prints from the offset on, until one of the two has ended. */
  async show(stream: MuxStream, from: number, size: TerminalSize | null): Promise<void> {
    if (this.viewers.length >= VIEWERS_MAX) {
      throw new OperationError('exhausted', `${VIEWERS_MAX} viewers look at this terminal`);
    }
    const position = this.scrollback.place(from);
    const viewer: Viewer = { stream, size, position, stalled: false, left: false };
    if (size) this.take(size);
    this.viewers.push(viewer);
    stream.send({ offset: position, ...this.size });
    try {
      // What was on the screen is not known to one that has lost its place: it is drawn again.
      if (size && position > from) this.redraw();
      stream.onMessage((message) => this.resize(viewer, message));
      stream.cancelled.addEventListener('abort', () => this.wake());
      void this.type(viewer);
      await this.follow(viewer);
    } finally {
      this.viewers = this.viewers.filter((each) => each !== viewer);
      const last = this.viewers.findLast((each) => each.size !== null)?.size;
      if (last) this.take(last);
      this.letGo();
    }
  }

  /** Ends it and all that runs in it. */
  async close(): Promise<void> {
    // The number of a process that has ended may be another's by now.
    const groups = this.end ? [] : [this.pty.pid];
    if (!this.end) {
      tryTo(() => this.pty.kill('SIGHUP'));
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, HANGUP_MS);
      await Promise.race([this.ended, promise]);
      clearTimeout(timer);
    }
    await sweepProcesses(this.marker, groups);
    await this.ended;
  }

  private async follow(viewer: Viewer): Promise<void> {
    const { stream } = viewer;
    while (!stream.cancelled.aborted && !viewer.left) {
      if (viewer.position < this.scrollback.start) {
        throw new OperationError('exhausted', 'this viewer fell behind what is kept');
      }
      const chunk = this.scrollback.read(viewer.position, FRAME_DATA_BYTES_MAX);
      if (chunk.length > 0) {
        if (!(await stream.write(CHANNEL.out, chunk))) return;
        viewer.position += chunk.length;
        viewer.stalled &&= this.isBehind(viewer);
        this.letGo();
      } else if (this.end) {
        stream.end(CHANNEL.out);
        return stream.finish({ exit: this.end });
      } else {
        await new Promise<void>((resolve) => this.waiters.push(resolve));
      }
    }
    stream.finish({ left: true });
  }

  private print(bytes: Buffer): void {
    this.scrollback.push(bytes);
    this.wake();
    if (this.held || !this.viewers.some((each) => this.holdsBack(each))) return;
    tryTo(() => this.pty.pause());
    const until = Date.now() + STALLED_MS;
    this.held = setInterval(() => {
      if (Date.now() < until && this.isRunning()) return;
      for (const viewer of this.viewers) viewer.stalled ||= this.isBehind(viewer);
      this.letGo();
    }, HELD_CHECK_MS);
  }

  private isRunning(): boolean {
    return sendSignal(this.pty.pid, 0);
  }

  private isBehind({ position }: Viewer): boolean {
    return this.scrollback.end - position > BEHIND_BYTES_MAX;
  }

  private holdsBack(viewer: Viewer): boolean {
    return !viewer.stalled && this.isBehind(viewer);
  }

  private letGo(): void {
    if (!this.held || this.viewers.some((each) => this.holdsBack(each))) return;
    clearInterval(this.held);
    this.held = undefined;
    tryTo(() => this.pty.resume());
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  private resize(viewer: Viewer, { cols, rows }: Record<string, unknown>): void {
    const size = sizeOf(cols, rows);
    if (!size || !viewer.size) return;
    viewer.size = size;
    this.didSomething(viewer);
  }

  private didSomething(viewer: Viewer): void {
    if (!viewer.size) return;
    if (this.viewers.at(-1) !== viewer) {
      this.viewers = [...this.viewers.filter((each) => each !== viewer), viewer];
    }
    this.take(viewer.size);
  }

  private take(size: TerminalSize): void {
    if (this.end || (size.cols === this.size.cols && size.rows === this.size.rows)) return;
    this.size = size;
    tryTo(() => this.pty.resize(size.cols, size.rows));
    for (const { stream } of this.viewers) stream.send({ ...size });
  }

  /** Programs draw their screen when its size changes. */
  private redraw(): void {
    const { cols, rows } = this.size;
    tryTo(() => {
      this.pty.resize(cols, rows + 1);
      this.pty.resize(cols, rows);
    });
  }

  private async type(viewer: Viewer): Promise<void> {
    try {
      for await (const chunk of viewer.stream.readable(CHANNEL.in)) {
        this.didSomething(viewer);
        this.typed = this.typed.then(() => this.write(chunk as Buffer)).catch(() => undefined);
        await this.typed;
      }
      viewer.left = true;
      this.wake();
    } catch {
      // The viewer went away.
    }
  }

  private async write(bytes: Buffer): Promise<void> {
    if (this.end) return;
    tryTo(() => this.pty.write(bytes));
    const socket = this.pty._socket;
    if (!socket?.writableNeedDrain) return;
    const over = new AbortController();
    const { signal } = over;
    await Promise.race([once(socket, 'drain', { signal }), this.ended]).finally(() => over.abort());
  }
}

/** Columns and rows of a terminal: more than any screen has. */
const SIZE_MAX = 1000;

export const sizeOf = (cols: unknown, rows: unknown): TerminalSize | null => {
  const isSize = (value: unknown): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= SIZE_MAX;
  return isSize(cols) && isSize(rows) ? { cols, rows } : null;
};
