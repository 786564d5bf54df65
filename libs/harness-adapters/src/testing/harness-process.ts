/** Runs one turn of a harness as a plain child process: what the runs service does, in small. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type {
  Answer,
  HarnessAdapter,
  HarnessEvent,
  ProtocolInput,
  ProtocolStep,
  TurnProtocol,
  TurnResult,
  TurnSpec,
} from '../harness-adapter.ts';

/** End of stderr that is kept, in characters. */
const STDERR_CHARACTERS_MAX = 16 * 1024;

/** Something a person did to the running turn; a restarted service tells it again. */
export type PersonsInput = (protocol: TurnProtocol) => ProtocolStep;

export interface FinishedTurn {
  result: TurnResult;
  events: HarnessEvent[];
  /** Keys of what was written, in order. */
  keys: string[];
  /** In the order in which they came; the interrupt, too. */
  people: PersonsInput[];
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
  readonly #people: PersonsInput[] = [];
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
    let isSignal = false;
    this.#person((protocol) => {
      const inputs = protocol.interrupt();
      isSignal = inputs.length === 0;
      return { events: [], inputs };
    });
    if (isSignal) this.kill('SIGINT');
  }

  steer(messageId: string, text: string): void {
    this.#person((protocol) => protocol.steer({ messageId, text }));
  }

  withdraw(messageId: string): void {
    this.#person((protocol) => protocol.withdraw(messageId));
  }

  answer(askId: string, answer: Partial<Answer>): void {
    const whole: Answer = { verdict: 'allow', answers: {}, reason: '', ...answer };
    this.#person((protocol) => protocol.answer(askId, whole));
  }

  defer(): void {
    this.#person((protocol) => protocol.defer());
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #person(input: PersonsInput): void {
    this.#people.push(input);
    this.#take(input(this.#protocol));
  }

  #line(line: string): void {
    this.#stdout.push(line);
    this.#take(this.#protocol.line(line));
  }

  #take({ events, inputs }: ProtocolStep): void {
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
      people: this.#people,
      stdout: this.#stdout,
      stderr: this.#stderr,
      exit,
    };
  }
}

/** What a restarted service would say and write: everything a person did first, then the lines. */
export function replayTurn(
  protocol: TurnProtocol,
  turn: FinishedTurn,
): { events: HarnessEvent[]; keys: string[] } {
  const steps: ProtocolStep[] = [{ events: [], inputs: protocol.open() }];
  for (const input of turn.people) steps.push(input(protocol));
  for (const line of turn.stdout) {
    const step = protocol.line(line);
    steps.push(step);
    const isEnd = step.events.some((event) => event.type === 'ended');
    if (isEnd) steps.push({ events: [], inputs: protocol.close() });
  }
  const keys = steps.flatMap(({ inputs }) => inputs.map(({ key }) => key));
  return { events: steps.flatMap(({ events }) => events), keys: [...new Set(keys)] };
}
