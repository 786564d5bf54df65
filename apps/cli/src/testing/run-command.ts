import { runCli } from '../cli.ts';
import { Interrupted, type Terminal, type TerminalOutput } from '../terminal.ts';

export const NOW = new Date('2026-10-12T08:30:00Z');

export interface RunSetting {
  url?: string;
  /** A person at a screen; else a pipe. */
  tty?: boolean;
  colour?: boolean;
  stdin?: string | Uint8Array;
  /** What comes line by line, until it ends. */
  lines?: AsyncIterable<string> | Iterable<string>;
  /** What the person answers when asked: the same each time, or one after the other. */
  answer?: string | string[];
  env?: Record<string, string>;
  cwd?: string;
  root?: string;
  columns?: number;
  /** What the person types where every key counts, and hears of the end of that. */
  keys?: (type: (text: string) => void) => () => void;
  /** Called with all that was written so far at each write; may press Ctrl-C. */
  onStdout?: (text: string, pressCtrlC: () => void) => void;
  onStderr?: (text: string, pressCtrlC: () => void) => void;
}

export interface Ran {
  code: number;
  out: string;
  err: string;
  questions: string[];
}

/** One command line against a terminal of the test. */
export async function runCommand(argv: string[], setting: RunSetting = {}): Promise<Ran> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const questions: string[] = [];
  const interrupt = new AbortController();
  const pressCtrlC = (): void => interrupt.abort(new Interrupted());
  const tty = setting.tty === true;
  const stream = (pieces: Buffer[], onWrite?: () => void): TerminalOutput => ({
    isTty: tty,
    columns: setting.columns ?? 100,
    rows: 30,
    onResize: () => () => undefined,
    write(text) {
      pieces.push(Buffer.from(text));
      onWrite?.();
    },
    writeBytes(piece) {
      pieces.push(Buffer.from(piece));
      onWrite?.();
      return Promise.resolve();
    },
  });
  const text = (pieces: Buffer[]): string => Buffer.concat(pieces).toString('utf8');
  const terminal: Terminal = {
    stdin: {
      isTty: tty && setting.stdin === undefined,
      readAll: () => Promise.resolve(Buffer.from(setting.stdin ?? '')),
      async *lines() {
        yield* setting.lines ?? [];
      },
      ask(question) {
        questions.push(question);
        const { answer = '' } = setting;
        return Promise.resolve(
          Array.isArray(answer) ? (answer[questions.length - 1] ?? '') : answer,
        );
      },
      openRaw: (onKeys) => setting.keys?.((keys) => onKeys(Buffer.from(keys))) ?? (() => undefined),
    },
    stdout: stream(out, () => setting.onStdout?.(text(out), pressCtrlC)),
    stderr: stream(err, () => setting.onStderr?.(text(err), pressCtrlC)),
    env: {
      HANGAR_TOKEN: 'key',
      ...(setting.url ? { HANGAR_URL: setting.url } : {}),
      ...(setting.colour ? {} : { NO_COLOR: '1' }),
      ...setting.env,
    },
    cwd: setting.cwd ?? '/nowhere',
    now: () => NOW,
    signal: interrupt.signal,
  };
  const code = await runCli(argv, { terminal, root: setting.root ?? '/nowhere' });
  return { code, out: text(out), err: text(err), questions };
}
