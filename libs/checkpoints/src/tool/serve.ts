import type { Readable, Writable } from 'node:stream';
import type { ErrorReport } from './contract.ts';
import { REQUEST_BYTES_MAX } from './requests.ts';
import { ToolError } from './tool-error.ts';

/**
 * The tool as a process that stays, because Node's own start is most of what a small checkpoint costs.
 * One request a line, `{id, verb, request}`, and for each one line, `{id, report}` or `{id, error}`,
 * before the next is begun. Nothing is remembered from one to the next.
 */

/** Without a request for so long it ends by itself. */
export const SERVE_IDLE_MS = 10 * 60_000;
/** What it may hold of the sandbox's memory between two requests: above it, it ends. */
const RESIDENT_BYTES_MAX = 384 * 1024 * 1024;

export interface ServeLimits {
  idleMs: number;
  residentBytesMax: number;
}
/** A restore is once in a sandbox, and its own process. */
const VERBS: ReadonlySet<string> = new Set(['capture', 'fingerprint', 'changes']);
const NEWLINE = 10;

type Run = (verb: string, request: unknown) => Promise<unknown>;

/** Resolves at the end of the input, when idle, or when another process should do the next. */
export async function serve(
  run: Run,
  input: Readable,
  output: Writable,
  { idleMs = SERVE_IDLE_MS, residentBytesMax = RESIDENT_BYTES_MAX }: Partial<ServeLimits> = {},
): Promise<void> {
  const home = process.cwd();
  const wait = (): NodeJS.Timeout => setTimeout(() => input.destroy(), idleMs);
  let idle = wait();
  try {
    for await (const line of linesOf(input)) {
      clearTimeout(idle);
      const { answer, isSound } = await answerOne(run, line);
      // In no work directory between requests: one that is removed is not held.
      process.chdir(home);
      output.write(`${JSON.stringify(answer)}\n`);
      dropGarbage();
      if (!isSound || process.memoryUsage.rss() > residentBytesMax) return;
      idle = wait();
    }
  } catch (error) {
    if (!isClosed(error)) throw error;
  } finally {
    clearTimeout(idle);
    input.destroy();
  }
}

const isClosed = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';

interface Answered {
  answer: { id: string | null; report?: unknown; error?: ErrorReport['error'] };
  /** False when work of a request that failed may still be under way. */
  isSound: boolean;
}

/** Throws what is no typed failure: whoever asked asks a new process, which says what it is. */
async function answerOne(run: Run, line: Buffer): Promise<Answered> {
  let id: string | null = null;
  let isBegun = false;
  try {
    const asked = readLine(line);
    if (typeof asked.id !== 'string') throw new ToolError('invalid', 'the line has no id');
    id = asked.id;
    const { verb, request } = asked;
    if (typeof verb !== 'string' || !VERBS.has(verb)) {
      throw new ToolError('invalid', `what is served: ${[...VERBS].join(', ')}`);
    }
    isBegun = true;
    return { answer: { id, report: await run(verb, request) }, isSound: true };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const { code, message } = error;
    return { answer: { id, error: { code, message } }, isSound: !isBegun || code === 'invalid' };
  }
}

function readLine(line: Buffer): Record<string, unknown> {
  try {
    return (JSON.parse(line.toString('utf8')) ?? {}) as Record<string, unknown>;
  } catch (error) {
    throw new ToolError('invalid', 'the line is not JSON', error);
  }
}

async function* linesOf(input: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    let rest = chunk as Buffer;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      yield Buffer.concat([...parts, rest.subarray(0, end)]);
      parts = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
    }
    bytes += rest.length;
    if (bytes > REQUEST_BYTES_MAX) throw new ToolError('invalid', 'the request is too large');
    if (rest.length > 0) parts.push(rest);
  }
}

/** What a request held is given back while nobody waits (with --expose-gc). */
function dropGarbage(): void {
  globalThis.gc?.();
}
