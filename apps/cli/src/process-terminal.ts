import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { once } from 'node:events';
import type { ReadStream } from 'node:tty';
import { HangarError } from '@hangar/contracts';
import { Interrupted, type Terminal, type TerminalInput, type TerminalOutput } from './terminal.ts';

const COLUMNS_WITHOUT_SCREEN = 80;
const ROWS_WITHOUT_SCREEN = 24;

/** The terminal of this process. A second Ctrl-C ends it at once. */
export function processTerminal(): Terminal {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort(new Interrupted()));
  return {
    stdin: standardInput(interrupt.signal),
    stdout: standardOutput(process.stdout),
    stderr: standardOutput(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    now: () => new Date(),
    signal: interrupt.signal,
  };
}

function standardOutput(stream: NodeJS.WriteStream): TerminalOutput {
  return {
    isTty: stream.isTTY === true,
    // Read anew each time: a screen changes its size.
    get columns() {
      return stream.columns ?? COLUMNS_WITHOUT_SCREEN;
    },
    get rows() {
      return stream.rows ?? ROWS_WITHOUT_SCREEN;
    },
    onResize(listener) {
      stream.on('resize', listener);
      return () => stream.off('resize', listener);
    },
    write(text) {
      stream.write(text);
    },
    async writeBytes(bytes) {
      if (!stream.write(bytes)) await once(stream, 'drain');
    },
  };
}

function standardInput(signal: AbortSignal): TerminalInput {
  return {
    isTty: process.stdin.isTTY === true,
    async readAll(bytesMax) {
      const pieces: Buffer[] = [];
      let size = 0;
      for await (const piece of process.stdin) {
        pieces.push(piece as Buffer);
        size += (piece as Buffer).length;
        if (size > bytesMax) {
          throw new HangarError('invalid', `The input is longer than ${bytesMax} bytes.`, {
            hint: 'Send less, or put it into a file of the repository.',
          });
        }
      }
      return Buffer.concat(pieces);
    },
    lines: (charactersMax) => linesOf(process.stdin, charactersMax, signal),
    ask: (question, { secret }) => (secret ? askSecret(question) : askLine(question, signal)),
    openRaw,
  };
}

/** Lines ended by LF or CRLF; what the end of the input cuts off is none. */
async function* linesOf(
  input: NodeJS.ReadStream,
  charactersMax: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const stop = (): void => void input.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  input.setEncoding('utf8');
  let rest = '';
  for await (const piece of input) {
    const lines = `${rest}${piece as string}`.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > charactersMax) {
      throw new HangarError('invalid', `A line is longer than ${charactersMax} characters.`, {
        hint: 'Send less at once.',
      });
    }
    for (const line of lines) yield line.replace(/\r$/, '');
  }
}

/** Signals that end this process; the screen is given back before. */
const ENDING = ['SIGTERM', 'SIGHUP'] as const;

function openRaw(onKeys: (bytes: Uint8Array) => void): () => void {
  const input = process.stdin as ReadStream;
  const restore = (): void => {
    input.off('data', onKeys);
    input.setRawMode(false);
    input.pause();
    process.off('exit', restore);
    for (const signal of ENDING) process.off(signal, end);
  };
  const end = (signal: NodeJS.Signals): void => {
    restore();
    process.kill(process.pid, signal);
  };
  process.once('exit', restore);
  for (const signal of ENDING) process.once(signal, end);
  input.setRawMode(true);
  // Node's raw mode still makes two characters of each new line, which programs of the whole screen
  // mean as one step down. Without the program the screen is almost right.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
  input.on('data', onKeys);
  input.resume();
  return restore;
}

/** The end of the input is a no. */
async function askLine(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = once(lines, 'close').then(() => '');
  lines.once('SIGINT', () => lines.close());
  try {
    return await Promise.race([lines.question(question, { signal }), closed]);
  } finally {
    lines.close();
  }
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const BACKSPACES = ['\u007f', '\b'];

async function askSecret(question: string): Promise<string> {
  const input = process.stdin as ReadStream;
  process.stderr.write(question);
  input.setRawMode(true);
  input.setEncoding('utf8');
  let typed = '';
  try {
    for await (const piece of input) {
      for (const letter of piece as string) {
        if (letter === CTRL_C) throw new Interrupted();
        if (letter === '\r' || letter === '\n' || letter === CTRL_D) return typed;
        if (BACKSPACES.includes(letter)) typed = typed.slice(0, -1);
        else typed += letter;
      }
    }
    return typed;
  } finally {
    input.setRawMode(false);
    process.stderr.write('\n');
  }
}
