import { HangarError } from '@hangar/contracts';
import type {
  Answer,
  Ask,
  HarnessEvent,
  ProtocolInput,
  ProtocolStep,
  TurnProtocol,
  TurnResult,
} from '@hangar/harness-adapters';
import type { ExitStatus, SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';
import { LineSplitter } from './line-splitter.ts';
import type { Run } from './run.ts';

/** The harness's own interrupt gets this long, then a TERM, then a KILL [M8]. */
const INTERRUPT_MS_MAX = 10_000;
const TERM_MS_MAX = 5_000;
/** After its result a harness writes what it still has to write and leaves. */
const LEAVE_MS_MAX = 30_000;
/** A sandbox that cannot be asked is asked again after this, for as long as it takes [S5]. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;
/** A KILL that could not be delivered is sent again after this, until the process has ended. */
const KILL_AGAIN_MS = 5_000;
const STDERR_CHARACTERS_MAX = 16 * 1024;

export type StopReason = 'cancelled' | 'timed_out';

export type ProcessEnd =
  | { kind: 'result'; result: TurnResult; exitCode: number | null; conversationId: string | null }
  /** The harness speaks of another conversation than the one it was to resume [R3]. */
  | { kind: 'wrong_conversation'; conversationId: string }
  | { kind: 'vanished'; reason: string }
  | { kind: 'sandbox_gone'; reason: string };

export interface TurnProcessOptions {
  io: SandboxIo;
  ref: SandboxRef;
  processId: string;
  protocol: TurnProtocol;
  /** The id that has to be reported; null when the harness chooses it. */
  expectedConversation: string | null;
  record: TurnRecorder;
  /** Everything the harness said, in the order of its output; told again when that is read again. */
  onSaid(event: HarnessEvent): void;
  /** Aborted with a StopReason when the turn shall end. */
  stop: AbortSignal;
  /** Aborted when this service leaves: the process goes on without it [M6]. */
  signal: AbortSignal;
}

/** Puts on record what must not be lost; the drive waits for it before it reads on. */
export interface TurnRecorder {
  delivered(messageId: string): Promise<void>;
  returned(messageId: string): Promise<void>;
  /** Answers at once where a rule decides; null when a person is asked. */
  asked(ask: Ask): Promise<Answer | null>;
  /** Before the answer of a person is written to the process. */
  answered(askId: string, answer: Answer): Promise<void>;
  closed(askId: string): Promise<void>;
  tool(event: Extract<HarnessEvent, { type: 'tool_started' | 'tool_finished' }>): Promise<void>;
}

/** A turn at work, as people speak with it. */
export interface DrivenTurn {
  end: Promise<ProcessEnd>;
  /** Tells it what is on record for it; what it was told before does nothing. */
  tell(run: Told): void;
}

/** What people said to a run. */
export type Told = Pick<Run, 'messages' | 'asks' | 'deferring'>;

/**
 * Drives the protocol of a process that runs detached. Its output is read from the first byte, so
 * that the protocol is where it was; what was written before is written once, by its key.
 */
export function driveTurn(options: TurnProcessOptions, run: Told): DrivenTurn {
  const drive = new Drive(options);
  const end = drive.run(run).finally(() => drive.dispose());
  return { end, tell: (next) => drive.tell(next) };
}

/**
 * What happened could not be recorded. The rest of what was read would be lost if the drive went
 * on behind it, so it ends, and the next one reads everything again.
 */
class NotRecorded extends Error {}

class Drive {
  readonly #options: TurnProcessOptions;
  readonly #lines = new LineSplitter();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Ends the reading when something could not be recorded meanwhile. */
  readonly #reading = new AbortController();
  readonly #told = new Set<string>();
  #handled: Promise<void> = Promise.resolve();
  #writes: Promise<void> = Promise.resolve();
  #offset = { out: 0, err: 0 };
  #stderr = '';
  #ended: TurnResult | null = null;
  #conversationId: string | null = null;
  #said: Told | null = null;
  #wrong: string | null = null;
  #stopping = false;
  readonly #onStop = (): void => this.#beginStop();

  constructor(options: TurnProcessOptions) {
    this.#options = options;
  }

  dispose(): void {
    this.#options.stop.removeEventListener('abort', this.#onStop);
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async run(run: Told): Promise<ProcessEnd> {
    const { protocol, stop, signal } = this.#options;
    this.#send(protocol.open());
    this.tell(run);
    if (stop.aborted) this.#beginStop();
    else stop.addEventListener('abort', this.#onStop);
    for (let pauseMs = RETRY_MS_MIN; ; pauseMs = Math.min(RETRY_MS_MAX, pauseMs * 2)) {
      signal.throwIfAborted();
      const exit = await this.#follow();
      if (exit.kind !== 'connection_lost') return this.#finish(exit);
      await this.#pause(pauseMs);
    }
  }

  /** Reads on from where it was, until the process has ended or the way to it is lost. */
  async #follow(): Promise<ExitStatus> {
    const { io, ref, processId, signal } = this.#options;
    let isThere = false;
    try {
      const status = await io.runs.status(ref, processId);
      isThere = true;
      if (status.state === 'unknown') return { kind: 'not_started', error: 'the run is not there' };
      const reading = AbortSignal.any([signal, this.#reading.signal]);
      const followed = await io.runs.follow(ref, processId, this.#offset, reading);
      const { stdout, stderr, exit } = followed;
      stderr.on('data', (chunk: Buffer) => {
        this.#offset.err += chunk.byteLength;
        this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-STDERR_CHARACTERS_MAX);
      });
      // Two readers of one stream would each see half of it: `for await` reads, `exit` is awaited after.
      exit.catch(() => undefined);
      for await (const chunk of stdout) {
        this.#offset.out += (chunk as Buffer).byteLength;
        for (const line of this.#lines.push(chunk as Buffer)) await this.#line(line);
      }
      await this.#handled;
      return await exit;
    } catch (error) {
      signal.throwIfAborted();
      await this.#handled.catch((failure: unknown) => {
        throw failure instanceof NotRecorded ? failure.cause : failure;
      });
      const failure = HangarError.from(error);
      // What was not found after its status was told is asked about once more: only a sandbox that
      // does not answer for itself is gone [S5].
      if (failure.code === 'not_found')
        return { kind: isThere ? 'connection_lost' : 'sandbox_gone' };
      if (failure.code === 'unavailable') return { kind: 'connection_lost' };
      throw error;
    }
  }

  /**
   * What people said, each once. Messages wait until the harness has said that it is in the right
   * conversation: one in another is handed off, and its successor gets them.
   */
  tell(run: Told): void {
    this.#said = run;
    const { protocol, record } = this.#options;
    if (this.#conversationId !== null && this.#wrong === null)
      for (const { message_id, text, state, wanted_back } of run.messages) {
        // One that the harness gave back is its session's again: offered once more, it could be got twice.
        if (state === 'returned') continue;
        this.#once(`steer ${message_id}`, () => protocol.steer({ messageId: message_id, text }));
        if (wanted_back) this.#once(`withdraw ${message_id}`, () => protocol.withdraw(message_id));
      }
    for (const { id, answer } of run.asks) {
      if (!answer) continue;
      const given = protocolAnswer(answer);
      this.#once(
        `answer ${id}`,
        () => protocol.answer(id, given),
        () => record.answered(id, given),
      );
    }
    if (run.deferring !== null) this.#once('defer', () => protocol.defer());
  }

  #once(key: string, step: () => ProtocolStep, first?: () => Promise<void>): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    // A failure ends the reading; nobody waits here.
    this.#apply(step(), first).catch(() => undefined);
  }

  async #line(line: string): Promise<void> {
    const step = this.#options.protocol.line(line);
    for (const event of step.events) this.#options.onSaid(event);
    await this.#apply(step);
  }

  /** One after the other: what is recorded later happened later; `first` comes before the inputs. */
  #apply({ events, inputs }: ProtocolStep, first?: () => Promise<void>): Promise<void> {
    if (!first) this.#send(inputs);
    const handled = this.#handled.then(async () => {
      if (first) {
        await first().catch((cause: unknown) => {
          throw new NotRecorded('what happened could not be recorded', { cause });
        });
        this.#send(inputs);
      }
      for (const event of events) await this.#handle(event);
    });
    this.#handled = handled;
    // Who waits for it hears of it; the reading ends in any case.
    handled.catch(() => this.#reading.abort());
    return handled;
  }

  async #handle(event: HarnessEvent): Promise<void> {
    const { protocol, expectedConversation } = this.#options;
    if (event.type === 'conversation') {
      this.#conversationId = event.id;
      const other = expectedConversation !== null && event.id !== expectedConversation;
      if (other && this.#wrong === null) {
        this.#wrong = event.id;
        this.#killUntilGone();
      }
      if (this.#said !== null) this.tell(this.#said);
    }
    if (event.type === 'ended') {
      this.#ended = event.result;
      this.#send(protocol.close());
      this.#after(LEAVE_MS_MAX, () => this.#terminate());
    }
    const answer = await this.#record(event);
    // By a rule, at once; its key is the same in every reading.
    if (event.type !== 'asked' || !answer) return;
    const step = protocol.answer(event.ask.id, answer);
    this.#send(step.inputs);
    for (const next of step.events) await this.#handle(next);
  }

  async #record(event: HarnessEvent): Promise<Answer | null> {
    const { record } = this.#options;
    try {
      switch (event.type) {
        case 'delivered':
          await record.delivered(event.messageId);
          return null;
        case 'returned':
          await record.returned(event.messageId);
          return null;
        case 'asked':
          return await record.asked(event.ask);
        case 'ask_closed':
          await record.closed(event.id);
          return null;
        case 'tool_started':
        case 'tool_finished':
          await record.tool(event);
          return null;
        default:
          return null;
      }
    } catch (cause) {
      throw new NotRecorded('what happened could not be recorded', { cause });
    }
  }

  /** In order, each once by its key; a lost connection is waited out. */
  #send(inputs: ProtocolInput[]): void {
    const { io, ref, processId, signal } = this.#options;
    for (const { key, line } of inputs) {
      this.#writes = this.#writes.then(async () => {
        const bytes = line === 'eof' ? ('eof' as const) : Buffer.from(`${line}\n`);
        for (let pauseMs = RETRY_MS_MIN; !signal.aborted; pauseMs *= 2) {
          try {
            return await io.runs.input(ref, processId, key, bytes);
          } catch (error) {
            // A process that has ended takes nothing more; its end is read from its output.
            if (HangarError.from(error).code !== 'unavailable') return;
            await this.#pause(Math.min(RETRY_MS_MAX, pauseMs));
          }
        }
      });
    }
  }

  #beginStop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    const inputs = this.#options.protocol.interrupt();
    if (inputs.length === 0) this.#kill('SIGINT');
    this.#send(inputs);
    this.#after(INTERRUPT_MS_MAX, () => this.#terminate());
  }

  #terminate(): void {
    this.#kill('SIGTERM');
    this.#after(TERM_MS_MAX, () => this.#killUntilGone());
  }

  #killUntilGone(): void {
    this.#kill('SIGKILL');
    this.#after(KILL_AGAIN_MS, () => this.#killUntilGone());
  }

  #kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
    const { io, ref, processId } = this.#options;
    // A signal that did not arrive is followed by the next step of the escalation.
    void io.runs.kill(ref, processId, signal).catch(() => undefined);
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#options;
    return new Promise((resolve) => {
      const end = (): void => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.#after(ms, end);
      signal.addEventListener('abort', end);
    });
  }

  async #finish(exit: ExitStatus): Promise<ProcessEnd> {
    const { io, ref, processId, protocol, stop } = this.#options;
    if (exit.kind === 'sandbox_gone')
      return { kind: 'sandbox_gone', reason: 'the sandbox went away while the agent worked' };
    // Shells that the agent left running end with its turn [M8].
    await io.runs.kill(ref, processId, 'SIGKILL').catch(() => undefined);
    if (this.#wrong !== null) return { kind: 'wrong_conversation', conversationId: this.#wrong };
    if (exit.kind === 'not_started' && this.#ended === null)
      return { kind: 'vanished', reason: `the agent is not there: ${exit.error}` };
    const code = exit.kind === 'exited' ? exit.code : null;
    const name = exit.kind === 'signalled' ? exit.signal : null;
    if (this.#ended === null && name !== null && !this.#stopping)
      return { kind: 'vanished', reason: `the agent was killed (${name})` };
    const result = this.#ended ?? protocol.exited({ code, signal: name }, this.#stderr);
    return {
      kind: 'result',
      exitCode: code,
      conversationId: this.#conversationId,
      result: this.#stopping ? stopped(result, stop.reason as StopReason) : result,
    };
  }
}

/** A turn that ended by itself while it was being stopped keeps its own end. */
function stopped(result: TurnResult, reason: StopReason): TurnResult {
  if (result.outcome === 'succeeded') return result;
  const message = reason === 'timed_out' ? 'the turn was at its time limit' : 'it was interrupted';
  return { ...result, outcome: 'cancelled', error: { kind: 'process', message } };
}

/** As the log has it, and as the adapters take it. */
export const protocolAnswer = ({
  verdict,
  answers,
  reason,
}: NonNullable<Run['asks'][number]['answer']>): Answer => ({
  verdict: verdict === 'allow' ? 'allow' : 'deny',
  answers: Object.fromEntries(answers.map(({ question_id, text }) => [question_id, text])),
  reason,
});
