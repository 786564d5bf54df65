import { flushTelemetry } from './telemetry.ts';

export interface Closable {
  name: string;
  close(): Promise<unknown>;
}

export interface CloseOptions {
  /** After this the process ends with 1, whatever is still open. */
  deadlineMillis?: number;
  exit?: (code: number) => void;
  report?: (line: string) => void;
}

/** Kubernetes kills after 30 s by default; ten leave time for what runs before and after. */
export const CLOSE_MILLIS_MAX = 10_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const SECOND_SIGNAL_EXIT_CODE = 130;
const SAME_SIGNAL_MILLIS = 500;

/**
 * Closes what was started, last first, at the first SIGINT or SIGTERM; then ends the process: with
 * 0, or with 1 where a part failed or was late. A second signal ends it at once; the same one
 * within `SAME_SIGNAL_MILLIS` is the first one. The returned function takes the listeners off again.
 */
export function closeOnSignal(parts: readonly Closable[], options: CloseOptions = {}): () => void {
  const {
    deadlineMillis = CLOSE_MILLIS_MAX,
    exit = (code) => process.exit(code),
    report = (line) => process.stderr.write(`${line}\n`),
  } = options;
  let first: { signal: NodeJS.Signals; at: number } | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first) {
      // One Ctrl-C may come twice: from the terminal, and passed on by a parent process.
      const same = signal === first.signal && performance.now() - first.at < SAME_SIGNAL_MILLIS;
      if (!same) exit(SECOND_SIGNAL_EXIT_CODE);
      return;
    }
    first = { signal, at: performance.now() };
    report(`${signal}: closing`);
    void closeAll(parts, deadlineMillis, report).then(exit);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/** Gives the exit code. A part that fails does not keep the others open. */
export async function closeAll(
  parts: readonly Closable[],
  deadlineMillis: number,
  report: (line: string) => void,
): Promise<number> {
  let code = 0;
  let current = '';
  const late = Promise.withResolvers<number>();
  const timer = setTimeout(() => {
    report(`${current} did not close within ${deadlineMillis} ms`);
    late.resolve(1);
  }, deadlineMillis);
  const all = async (): Promise<number> => {
    for (const { name, close } of closables(parts)) {
      current = name;
      try {
        await close();
      } catch (error) {
        report(`${name} did not close: ${error instanceof Error ? error.message : String(error)}`);
        code = 1;
      }
    }
    return code;
  };
  try {
    return await Promise.race([all(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Last started, first closed; the spans of all of it go out at the end. */
function closables(parts: readonly Closable[]): Closable[] {
  const bound = parts.map((part) => ({ name: part.name, close: () => part.close() }));
  return [...bound.reverse(), { name: 'telemetry', close: flushTelemetry }];
}
