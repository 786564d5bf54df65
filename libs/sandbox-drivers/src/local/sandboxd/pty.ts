import { createRequire } from 'node:module';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { sweepProcesses } from '../process-table.ts';
import { CHANNEL, type MuxStream } from '../wire/mux-stream.ts';
import {
  MARKER,
  type ProcessEnd,
  type ProcessRequest,
  type SandboxdConfig,
} from '../wire/protocol.ts';
import { OperationError } from './operation-error.ts';
import { prepareProcess } from './spawn.ts';
import { signalName } from './signal-names.ts';

/** What is used of the terminal addon; it is loaded at run time from its own directory. */
interface Terminal {
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
  ): Terminal;
}

/** A terminal whose shell ignores the hang-up is killed after this long. */
const HANGUP_MS = 1000;

let addon: TerminalAddon | undefined;

const loadAddon = (directory: string | null): TerminalAddon => {
  if (directory === null) {
    throw new OperationError('unavailable', 'this installation has no terminal support');
  }
  addon ??= createRequire(`${directory}/`)('@lydell/node-pty') as TerminalAddon;
  return addon;
};

/** A terminal lives as long as its stream; what must outlive it runs in tmux inside. */
export const servePty = async (
  stream: MuxStream,
  request: ProcessRequest & { cols: number; rows: number },
  config: SandboxdConfig,
): Promise<void> => {
  const marker = { name: MARKER.exec, value: randomUUID() };
  const terminals = loadAddon(config.ptyDirectory);
  const prepared = await prepareProcess(request, config, { [marker.name]: marker.value });
  if (!prepared.ok) {
    return stream.finish({ exit: { kind: 'not_started', error: prepared.error } });
  }
  const [program, ...rest] = prepared.argv;
  const terminal = terminals.spawn(program, rest, {
    cols: request.cols,
    rows: request.rows,
    cwd: prepared.cwd,
    env: prepared.envVars,
    name: prepared.envVars.TERM ?? 'xterm-256color',
    encoding: null,
  });
  stream.send({ started: terminal.pid });
  const ended = pumpOutput(terminal, stream);
  stream.onMessage((message) => resizeTo(terminal, message));
  void pumpInput(terminal, stream);

  stream.cancelled.addEventListener('abort', () => {
    tryTo(() => terminal.kill('SIGHUP'));
    const timer = setTimeout(() => void sweepProcesses(marker, [terminal.pid]), HANGUP_MS);
    void ended.then(() => clearTimeout(timer));
  });
  const exit = await ended;
  stream.end(CHANNEL.out);
  stream.finish({ exit });
};

/** The addon throws when its terminal has ended meanwhile; there is nothing left to do then. */
const tryTo = (action: () => void): void => {
  try {
    action();
  } catch {
    return;
  }
};

const resizeTo = (terminal: Terminal, message: Record<string, unknown>): void => {
  const { cols, rows } = message;
  if (Number.isInteger(cols) && Number.isInteger(rows)) {
    tryTo(() => terminal.resize(Number(cols), Number(rows)));
  }
};

/** Resolves with the end of the process once everything it printed was handed over. */
const pumpOutput = (terminal: Terminal, stream: MuxStream): Promise<ProcessEnd> => {
  let handedOver = Promise.resolve();
  terminal.onData((data) => {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    terminal.pause();
    handedOver = handedOver.then(async () => {
      await stream.write(CHANNEL.out, bytes);
      tryTo(() => terminal.resume());
    });
  });
  return new Promise((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      const end: ProcessEnd = signal
        ? { kind: 'signalled', signal: signalName(signal) }
        : { kind: 'exited', code: exitCode };
      void handedOver.then(() => resolve(end));
    });
  });
};

const pumpInput = async (terminal: Terminal, stream: MuxStream): Promise<void> => {
  try {
    for await (const chunk of stream.readable(CHANNEL.in)) {
      tryTo(() => terminal.write(chunk as Buffer));
      const socket = terminal._socket;
      if (socket?.writableNeedDrain) {
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
      }
    }
  } catch {
    // The connection went away; `cancelled` hangs the terminal up.
  }
};
