import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { HangarError } from '@hangar/contracts';
import type { SandboxPlace } from '@hangar/contracts';
import type { ExecStream, ExitStatus, SandboxIo } from '@hangar/sandbox-drivers';
import {
  NODE_FLAGS,
  REPORT_BYTES_MAX,
  SandboxGone,
  TOOL,
  callTool,
  checkReport,
  refOf,
  type CallOptions,
} from './sandbox-tool.ts';

/** Processes that wait in sandboxes; one more ends the one that has waited longest. */
export const SERVERS_MAX = 32;
/** Without a capture for so long, a sandbox has its memory back. */
export const SERVE_IDLE_MS = 10 * 60_000;
/** Messages of Node itself, about nothing that is asked here. */
const STDERR_BYTES_MAX = 1024 * 1024;
/** After SIGKILL, until nothing of the process writes where the next one will. */
const KILLED_MS_MAX = 10_000;
/** Above it Node gives up, and a process of its own takes the capture. */
export const HEAP_FLAGS = ['--max-old-space-size=512', '--expose-gc'];

export interface ResidentTools {
  /** A capture: a request in, a report out, which is to be checked like that of `callTool`. */
  capture(place: SandboxPlace, request: object, options: CallOptions): Promise<object>;
  close(): Promise<void>;
}

/**
 * The tool, kept running in each sandbox that takes checkpoints, since its start is most of what a
 * small one costs. It is only ever a faster way to the same answer: whatever goes wrong with it, the
 * process is killed and the capture is one call of its own. A refusal is an answer.
 */
export function createResidentTools(io: SandboxIo, idleMs = SERVE_IDLE_MS): ResidentTools {
  /** By sandbox and instance; the one that was used last is last. */
  const servers = new Map<string, Server>();
  let isClosed = false;

  /** Null where a process of its own does as well: one is busy there, or too many are. */
  const claim = (place: SandboxPlace): Server | null => {
    if (isClosed) return null;
    const key = `${place.sandbox_id} ${place.instance}`;
    const found = servers.get(key);
    if (found?.isBusy) return null;
    if (!found && servers.size >= SERVERS_MAX) {
      const oldest = [...servers.values()].find((server) => !server.isBusy);
      if (!oldest) return null;
      void oldest.end();
    }
    const server = found ?? new Server(io, place, idleMs, () => servers.delete(key));
    servers.delete(key);
    servers.set(key, server);
    return server;
  };

  return {
    async capture(place, request, options) {
      options.signal.throwIfAborted();
      const answer = await claim(place)?.ask('capture', request, options);
      return answer === undefined || answer === 'failed'
        ? callTool(io, place, 'capture', request, options)
        : answer;
    },
    async close() {
      isClosed = true;
      const ended = Promise.all([...servers.values()].map((server) => server.end()));
      // One that cannot be reached ends with its connection.
      await Promise.race([ended, delay(KILLED_MS_MAX, undefined, { ref: false })]);
    },
  };
}

type Answer = { report: unknown } | 'failed';

class Server {
  /** Between a question and its answer. */
  isBusy = false;
  readonly #stdin = new PassThrough();
  readonly #started: Promise<ExecStream>;
  readonly #ended = Promise.withResolvers<ExitStatus | null>();
  readonly #idleMs: number;
  readonly #remove: () => void;
  #isEnding = false;
  #idle: NodeJS.Timeout | undefined;
  #asked = 0;
  #answer: ((answer: Answer) => void) | null = null;
  #parts: Buffer[] = [];
  #bytes = 0;
  #stderrBytes = 0;

  constructor(io: SandboxIo, place: SandboxPlace, idleMs: number, remove: () => void) {
    this.#idleMs = idleMs;
    this.#remove = remove;
    this.#started = io.exec(refOf(place), {
      argv: [place.node, ...NODE_FLAGS, ...HEAP_FLAGS, `${place.tools}/${TOOL}`, 'serve'],
      cwd: place.home,
      stdin: this.#stdin,
      quiet: true,
    });
    this.#started.then((stream) => this.#watch(stream)).catch(() => this.#gone(null));
  }

  /** `failed`: it has ended without an answer. Throws a refusal, SandboxGone, and when aborted. */
  async ask(
    verb: string,
    request: object,
    { timeoutMs, signal }: CallOptions,
  ): Promise<object | 'failed'> {
    this.isBusy = true;
    clearTimeout(this.#idle);
    const answered = Promise.withResolvers<Answer>();
    this.#answer = answered.resolve;
    const fail = (): void => answered.resolve('failed');
    const limit = setTimeout(fail, timeoutMs);
    signal.addEventListener('abort', fail);
    this.#asked += 1;
    this.#stdin.write(`${JSON.stringify({ id: String(this.#asked), verb, request })}\n`);
    try {
      const answer = await answered.promise;
      if (answer === 'failed') return await this.#failed(signal);
      return checkReport(answer.report, verb);
    } catch (error) {
      // After a failure the next one starts anew.
      void this.end();
      throw error;
    } finally {
      clearTimeout(limit);
      signal.removeEventListener('abort', fail);
      this.#answer = null;
      this.isBusy = false;
      if (!this.#isEnding) this.#idle = setTimeout(() => void this.end(), this.#idleMs).unref();
    }
  }

  /** Waits for its end, so that it writes nothing any more when another takes its place. */
  async #failed(signal: AbortSignal): Promise<'failed'> {
    const ended = this.end();
    signal.throwIfAborted();
    const exit = await Promise.race([
      ended,
      delay(KILLED_MS_MAX, 'late' as const, { ref: false }),
      once(signal, 'abort'),
    ]);
    signal.throwIfAborted();
    if (exit === 'late') throw new HangarError('unavailable', 'the checkpoint tool did not end');
    if (exit !== null && 'kind' in exit && exit.kind === 'sandbox_gone') {
      throw new SandboxGone('the sandbox is gone');
    }
    return 'failed';
  }

  /** Resolves when it has ended, with null when it never began. */
  async end(): Promise<ExitStatus | null> {
    if (!this.#isEnding) {
      this.#isEnding = true;
      clearTimeout(this.#idle);
      this.#remove();
      this.#stdin.end();
      void this.#started.then((stream) => stream.kill('SIGKILL')).catch(() => undefined);
    }
    return this.#ended.promise;
  }

  #watch(stream: ExecStream): void {
    stream.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.stderr.on('data', (chunk: Buffer) => {
      this.#stderrBytes += chunk.byteLength;
      if (this.#stderrBytes > STDERR_BYTES_MAX) this.#break();
    });
    stream.exit.then(
      (exit) => this.#gone(exit),
      () => this.#gone(null),
    );
  }

  #gone(exit: ExitStatus | null): void {
    this.#ended.resolve(exit);
    this.#break();
  }

  #break(): void {
    void this.end();
    this.#answer?.('failed');
  }

  /** Anything but one line with the answer, or with one of an earlier question, ends it. */
  #take(chunk: Buffer): void {
    if (this.#isEnding) return;
    this.#bytes += chunk.byteLength;
    if (this.#answer === null || this.#bytes > REPORT_BYTES_MAX) return this.#break();
    let rest = chunk;
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      const line = Buffer.concat([...this.#parts, rest.subarray(0, at)]).toString('utf8');
      this.#parts = [];
      rest = rest.subarray(at + 1);
      const answer = readAnswer(line, this.#asked);
      if (answer === 'late') continue;
      if (answer === 'failed' || rest.length > 0) return this.#break();
      this.#bytes = 0;
      this.#answer(answer);
      this.#answer = null;
      return;
    }
    if (rest.length > 0) this.#parts.push(rest);
  }
}

function readAnswer(line: string, asked: number): Answer | 'late' {
  let body: unknown;
  try {
    body = JSON.parse(line);
  } catch {
    return 'failed';
  }
  const { id, report, error } = (body ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || !/^[1-9]\d{0,14}$/.test(id) || Number(id) > asked) return 'failed';
  if (Number(id) < asked) return 'late';
  return { report: error === undefined ? report : { error } };
}
