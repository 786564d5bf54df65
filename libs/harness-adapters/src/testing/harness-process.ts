/** Runs one turn of a harness as a plain child process: what the runs service does, in small. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type {
  HarnessAdapter,
  HarnessEvent,
  ProtocolInput,
  TurnProtocol,
  TurnResult,
  TurnSpec,
} from '../harness-adapter.ts';

/** End of stderr that is kept, in characters. */
const STDERR_CHARACTERS_MAX = 16 * 1024;

export interface FinishedTurn {
  result: TurnResult;
  events: HarnessEvent[];
  /** Keys of what was written, in order. */
  keys: string[];
  stdout: string[];
  stderr: string;
  exit: { code: number | null; signal: string | null };
}

export class HarnessProcess {
  readonly events: HarnessEvent[] = [];
  readonly finished: Promise<FinishedTurn>;
  readonly #protocol: TurnProtocol;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #written = new Set<string>();
  readonly #stdout: string[] = [];
  readonly #watchers = new Set<(event: HarnessEvent) => void>();
  #ended: TurnResult | null = null;
  #stderr = '';

  private constructor(child: ChildProcessWithoutNullStreams, protocol: TurnProtocol) {
    this.#child = child;
    this.#protocol = protocol;
    // A harness that left early breaks the pipe; how it left is what counts.
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_CHARACTERS_MAX);
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.#line(line));
    this.finished = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(this.#close({ code, signal })));
    });
    this.#send(protocol.open());
  }

  static async start(adapter: HarnessAdapter, turn: TurnSpec): Promise<HarnessProcess> {
    const command = adapter.command(turn);
    for (const file of command.files) {
      const path = join(turn.home, file.path);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, file.content);
      await chmod(path, file.mode);
    }
    const [program, ...argv] = command.argv;
    const child = spawn(program ?? '', argv, {
      cwd: turn.cwd,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: turn.home, ...command.envVars },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    return new HarnessProcess(child, adapter.protocol(turn));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves at the first event that matches, also one of the past; rejects at the end. */
  async until(match: (event: HarnessEvent) => boolean): Promise<HarnessEvent> {
    const past = this.events.find(match);
    if (past) return past;
    let watcher: ((event: HarnessEvent) => void) | undefined;
    const found = new Promise<HarnessEvent>((resolve) => {
      watcher = (event) => {
        if (match(event)) resolve(event);
      };
      this.#watchers.add(watcher);
    });
    const over = this.finished.then((turn) => {
      throw new Error(`the turn ended without that event: ${JSON.stringify(turn.result)}`);
    });
    try {
      return await Promise.race([found, over]);
    } finally {
      if (watcher) this.#watchers.delete(watcher);
      over.catch(() => undefined);
    }
  }

  interrupt(): void {
    this.#send(this.#protocol.interrupt());
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #line(line: string): void {
    this.#stdout.push(line);
    const { events, inputs } = this.#protocol.line(line);
    for (const event of events) {
      this.events.push(event);
      if (event.type === 'ended') this.#ended = event.result;
      for (const watcher of this.#watchers) watcher(event);
    }
    this.#send(inputs);
    if (events.some((event) => event.type === 'ended')) this.#send(this.#protocol.close());
  }

  #send(inputs: ProtocolInput[]): void {
    for (const { key, line } of inputs) {
      if (this.#written.has(key)) continue;
      this.#written.add(key);
      if (line === 'eof') this.#child.stdin.end();
      else this.#child.stdin.write(`${line}\n`);
    }
  }

  #close(exit: { code: number | null; signal: string | null }): FinishedTurn {
    return {
      result: this.#ended ?? this.#protocol.exited(exit, this.#stderr),
      events: this.events,
      keys: [...this.#written],
      stdout: this.#stdout,
      stderr: this.#stderr,
      exit,
    };
  }
}
