import {
  HangarError,
  deriveUuid,
  sessionPartId,
  type AnsweredAsk,
  type SandboxPlace,
} from '@hangar/contracts';
import type { HarnessAdapter, TurnResult, TurnSpec } from '@hangar/harness-adapters';
import { metaOfEffect, type ActivityLog, type LeasedEffect } from '@hangar/messaging';
import { isTransientDatabaseError } from '@hangar/messaging/postgres';
import type { SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';
import {
  createRedactor,
  type CredentialAsker,
  type KnownSecret,
  type Redactor,
} from '@hangar/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { conversationFiles } from './conversation-files.ts';
import { keyCommand } from './key-command.ts';
import type { RunCommand } from './run.decider.ts';
import { createRunRedactor, type RunRedactor } from './run-redactor.ts';
import type { Runs } from './run.service.ts';
import type { RunVariables } from './run-variables.ts';
import type { Run, RunRequest } from './run.ts';
import { watchLog } from './run-watch.ts';
import { createTimeLimit, type TimeLimit } from './time-limit.ts';
import { createActivityWriter, type ActivityWriter } from './activity-writer.ts';
import { ALL_ALLOWED, asksLeave } from './permissions.ts';
import { createTurnRecorder } from './turn-recorder.ts';
import {
  driveTurn,
  protocolAnswer,
  type DrivenTurn,
  type ProcessEnd,
  type StopReason,
} from './turn-process.ts';
import { promptOf, summed } from './turn-text.ts';

export interface WorkerOptions {
  runs: Runs;
  activity: ActivityLog;
  nats: NatsConnection;
  io: SandboxIo;
  adapter(harness: string): HarnessAdapter;
  /** Environment variables of a run, and which of their values are secret. */
  runVariables(asker: CredentialAsker): Promise<RunVariables>;
  /** Values that processes of a sandbox were given, newest first. */
  handed(sandboxId: string): Promise<KnownSecret[]>;
  now(): Date;
}

/** Tries at what nobody foresaw; then it is told, and the run has failed. */
const UNFORESEEN_ATTEMPTS_MAX = 4;

export interface RunWorker {
  execute(effect: LeasedEffect, signal: AbortSignal): Promise<void>;
}

/** One process execution: prepare, start or find, drive, record. Each step can be done again. */
export function createRunWorker(options: WorkerOptions): RunWorker {
  return {
    execute: async (effect, signal) => {
      const id = String(effect.payload['run_id']);
      const execution = new Execution(options, effect, id, signal);
      await execution.run();
    },
  };
}

type Conversation = 'native' | 'handoff';

/** What the time limit counts from, or waits for. */
const COUNTED = new Set(['RunStarted', 'RunAsked', 'RunAskClosed']);

/** The harness speaks of another conversation, or says that the one to resume is not there. */
const isElsewhere = (end: ProcessEnd, spec: TurnSpec): boolean =>
  end.kind === 'wrong_conversation' ||
  (end.kind === 'result' && spec.resume && end.result.error?.kind === 'conversation_lost');

/** Errors that are an answer; any other may be gone at the next try. */
const ANSWERS = new Set(['invalid', 'forbidden', 'exhausted', 'not_found']);

const isAnswer = (error: unknown): boolean =>
  error instanceof HangarError && ANSWERS.has(error.code);

/** Rules that nobody would hold the agent to are no rules: its turn does not start [A3]. */
function requireAsking({ name, capabilities }: HarnessAdapter, { permissions }: RunRequest): void {
  if (capabilities.approvals || !asksLeave(permissions ?? ALL_ALLOWED)) return;
  throw new HangarError(
    'invalid',
    `${name} runs its tools without asking for leave, and this session has rules; allow all, or take another harness`,
  );
}

class Execution {
  readonly #options: WorkerOptions;
  readonly #effect: LeasedEffect;
  readonly #id: string;
  readonly #signal: AbortSignal;
  /** Hides what looks like a secret, and the run's own once they are known [Z2]. */
  #redact: Redactor = createRedactor([]);
  #redactor: RunRedactor | null = null;
  readonly #stop = new AbortController();
  #run: Run | null = null;
  #driven: DrivenTurn | null = null;
  #limit: TimeLimit | null = null;

  constructor(options: WorkerOptions, effect: LeasedEffect, id: string, signal: AbortSignal) {
    this.#options = options;
    this.#effect = effect;
    this.#id = id;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { runs, nats } = this.#options;
    const load = async (): Promise<Run | null> => (await runs.load(this.#id)).state;
    const watch = watchLog({ nats, load }, this.#id, (run) => this.#onRun(run));
    let place: SandboxPlace | undefined;
    try {
      const { state } = await runs.load(this.#id);
      if (!state || state.status === 'ended') return;
      ({ place } = state.request);
      const end = (): void => this.#stop.abort('timed_out' satisfies StopReason);
      this.#limit = createTimeLimit(state.request.turn_minutes, this.#options.now, end);
      this.#onRun(state);
      await this.#execute(state.request, state.status === 'started');
    } catch (error) {
      this.#signal.throwIfAborted();
      const failure = HangarError.from(error);
      // What cannot be asked is asked again by the effect's next attempt; nothing is recorded: the
      // agent is at work in its sandbox, whatever became of the way to it or of the database.
      if (failure.code === 'unavailable' || isTransientDatabaseError(error)) throw error;
      if (failure.code === 'not_found') return this.#fail('sandbox_gone', failure.message, true);
      if (!isAnswer(error) && this.#effect.attempt < UNFORESEEN_ATTEMPTS_MAX) throw error;
      if (place) await this.#endProcesses(refOf(place));
      await this.#finishFailed(failure.message);
    } finally {
      watch.end();
      this.#redactor?.end();
      this.#limit?.end();
    }
  }

  /** The newest of what the log says; a turn that is driven hears it at once. */
  #onRun(run: Run): void {
    this.#run = run;
    this.#limit?.follow(run);
    if (run.cancelling !== null) this.#stop.abort('cancelled' satisfies StopReason);
    this.#driven?.tell(run);
  }

  async #execute(request: RunRequest, wasStarted: boolean): Promise<void> {
    const stop = this.#stop.signal;
    const ref = refOf(request.place);
    const running = await this.#found(ref);
    if (running === null && wasStarted)
      return this.#fail('vanished', 'the agent is not there any more', false);
    if (running === null) await this.#stopOthers(ref, request);
    const adapter = this.#options.adapter(request.harness);
    if (running === null) requireAsking(adapter, request);
    const variables = await this.#variables(request);
    await this.#hide(request, variables);
    const native = this.#spec(request, variables, 'native');
    const handoff = this.#spec(request, variables, 'handoff');
    // A run that is not wanted any more leaves the conversation's files to the one after it.
    if (running === null && stop.aborted) return this.#finishCancelled();
    let conversation = running ?? (await this.#prepare(adapter, ref, native));
    if (running === null && stop.aborted) return this.#finishCancelled();
    let spec = conversation === 'native' ? native : handoff;
    await this.#start(adapter, ref, spec);
    await this.#tell({ type: 'MarkStarted', data: { conversation } });
    let end = await this.#drive(adapter, ref, spec, running);
    if (conversation === 'native' && isElsewhere(end, spec)) {
      // Exactly one fallback, labelled as what it is [R3].
      conversation = 'handoff';
      spec = handoff;
      await this.#start(adapter, ref, spec);
      end = await this.#drive(adapter, ref, spec, null);
    }
    await this.#record(end, conversation, spec, stop);
  }

  /** A secret that the environment names and nobody has set is an answer, not a race. */
  async #variables(request: RunRequest): Promise<RunVariables> {
    try {
      const { owner, environment, session_id: session } = request;
      return await this.#options.runVariables({ owner, environment, session });
    } catch (error) {
      if (!(error instanceof HangarError) || error.code !== 'conflict') throw error;
      const { message, hint } = error;
      throw new HangarError('invalid', hint ? `${message}; ${hint}` : message, { cause: error });
    }
  }

  async #hide(request: RunRequest, { secrets }: RunVariables): Promise<void> {
    const { nats, handed } = this.#options;
    const sandboxId = request.place.sandbox_id;
    const redactor = await createRunRedactor({ nats, sandboxId, secrets, handed });
    this.#redactor = redactor;
    this.#redact = redactor.redact;
  }

  /** Which of this run's two possible processes the sandbox knows, dead or alive. */
  async #found(ref: SandboxRef): Promise<Conversation | null> {
    const { runs } = this.#options.io;
    const known = async (id: string): Promise<boolean> =>
      (await runs.status(ref, id)).state !== 'unknown';
    const [handoff, native] = await Promise.all([known(`${this.#id}-handoff`), known(this.#id)]);
    if (handoff) return 'handoff';
    return native ? 'native' : null;
  }

  /** A run that is recorded as failed leaves no agent at work behind [M5]. */
  async #endProcesses(ref: SandboxRef): Promise<void> {
    const { runs } = this.#options.io;
    for (const id of [this.#id, `${this.#id}-handoff`])
      // One that was never started cannot be killed; one that cannot be reached is ended by the next.
      await runs.kill(ref, id, 'SIGKILL').catch(() => undefined);
  }

  /**
   * One agent works on a session at a time [M5]: a run that was given up but still lives in this
   * sandbox ends before this one starts.
   */
  async #stopOthers(ref: SandboxRef, request: RunRequest): Promise<void> {
    const { runs } = this.#options.io;
    // Each start ends the one before it, so no older one can be left.
    const before = sessionPartId('run', request.session_id, request.turn - 1);
    const end = async (other: string): Promise<void> => {
      const status = await runs.status(ref, other);
      if (status.state === 'running') await runs.kill(ref, other, 'SIGKILL');
    };
    await Promise.all([before, `${before}-handoff`].map(end));
  }

  /** The conversation's files are where the harness will look, and whole, or it is handed off [R3]. */
  async #prepare(adapter: HarnessAdapter, ref: SandboxRef, spec: TurnSpec): Promise<Conversation> {
    if (!spec.resume || spec.conversationId === null)
      return this.#run?.request.hand_off ? 'handoff' : 'native';
    const files = conversationFiles(this.#options.io, ref);
    const { home, cwd, conversationId } = spec;
    const check = await adapter.check(files, { home, cwd, conversationId });
    if (check.state === 'missing') return 'handoff';
    if (check.state === 'damaged') await files.write(check.path, check.repaired);
    return 'native';
  }

  #spec(
    request: RunRequest,
    { envVars, askable }: RunVariables,
    conversation: Conversation,
  ): TurnSpec {
    const native = conversation === 'native';
    const resume = native && request.resume;
    return {
      runId: native ? this.#id : `${this.#id}-handoff`,
      messageId: request.message_id,
      prompt: promptOf(request, conversation),
      cwd: request.place.cwd,
      home: request.place.home,
      node: request.place.node,
      harnessRoot: request.place.harness_root,
      model: request.model ?? null,
      conversationId: resume
        ? (request.harness_session ?? null)
        : deriveUuid('conversation', this.#id, conversation),
      resume,
      envVars,
      keyCommands: Object.fromEntries(
        askable.map((name) => [name, keyCommand(request.place.tools, name)]),
      ),
      asksLeave: asksLeave(request.permissions ?? ALL_ALLOWED),
      // A conversation that is not there has no question in it: the message says what was answered.
      answered: resume && request.answered ? answeredOf(request.answered) : null,
    };
  }

  async #start(adapter: HarnessAdapter, ref: SandboxRef, spec: TurnSpec): Promise<void> {
    const { io } = this.#options;
    if ((await io.runs.status(ref, spec.runId)).state !== 'unknown') return;
    const command = adapter.command(spec);
    // Whoever lost the lease meanwhile starts nothing: somebody else is at it.
    this.#signal.throwIfAborted();
    await Promise.all(
      command.files.map(({ path, content, mode }) =>
        io.files.put(ref, `${spec.home}/${path}`, Buffer.from(content), { mode }),
      ),
    );
    await io.runs.start(ref, spec.runId, {
      argv: command.argv,
      cwd: spec.cwd,
      envVars: command.envVars,
    });
  }

  async #drive(
    adapter: HarnessAdapter,
    ref: SandboxRef,
    spec: TurnSpec,
    found: Conversation | null,
  ): Promise<ProcessEnd> {
    const { request } = this.#known();
    const expected = spec.resume || adapter.capabilities.choosesId ? spec.conversationId : null;
    const activity = await this.#activity(request, spec.runId, found !== null);
    const protocol = adapter.protocol(spec);
    const record = createTurnRecorder({
      request,
      redact: this.#redact,
      tell: (command) => this.#tell(command),
    });
    this.#driven = driveTurn(
      {
        io: this.#options.io,
        ref,
        processId: spec.runId,
        protocol,
        expectedConversation: expected,
        record,
        onSaid: (event) => activity.say(event),
        stop: this.#stop.signal,
        signal: this.#signal,
      },
      this.#known(),
    );
    try {
      return await this.#driven.end;
    } finally {
      this.#driven = null;
      await activity.close();
    }
  }

  #known(): Run {
    if (!this.#run) throw new Error('a run is driven before it was read');
    return this.#run;
  }

  #activity(request: RunRequest, processId: string, isAgain: boolean): Promise<ActivityWriter> {
    const { activity, nats, now } = this.#options;
    return createActivityWriter({
      activity,
      nats,
      now,
      redact: this.#redact,
      sessionId: request.session_id,
      turn: request.turn,
      part: processId === this.#id ? 0 : 1,
      isAgain,
    });
  }

  async #record(
    end: ProcessEnd,
    conversation: Conversation,
    spec: TurnSpec,
    stop: AbortSignal,
  ): Promise<void> {
    switch (end.kind) {
      case 'sandbox_gone':
        return this.#fail('sandbox_gone', end.reason, true);
      case 'vanished':
        return this.#fail('vanished', end.reason, false);
      case 'wrong_conversation':
        return this.#finishFailed(
          `the agent answered in another conversation (${end.conversationId}), twice`,
        );
      case 'result':
        break;
    }
    const { result, exitCode } = end;
    const timedOut = result.outcome === 'cancelled' && stop.reason === 'timed_out';
    const id = end.conversationId ?? (spec.resume ? spec.conversationId : null);
    await this.#tell({
      type: 'FinishRun',
      data: {
        outcome: timedOut ? 'timed_out' : result.outcome,
        ...(exitCode === null ? {} : { exit_code: exitCode }),
        summary: summed(this.#redact(result.summary)),
        usage: result.usage,
        ...(result.error
          ? { error: summed(this.#redact(inWords(result.error))), error_kind: result.error.kind }
          : {}),
        ...(result.error?.kind === 'usage_limit' && result.error.resetsAt
          ? { resets_at: result.error.resetsAt }
          : {}),
        ...(id === null ? {} : { harness_session: id }),
        conversation: id === null ? 'none' : conversation,
      },
    });
  }

  #finishCancelled(): Promise<void> {
    return this.#finish('cancelled', 'interrupted before the agent was started');
  }

  #finishFailed(error: string): Promise<void> {
    return this.#finish('failed', summed(this.#redact(error)));
  }

  #finish(outcome: string, error: string): Promise<void> {
    const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
    const data = { outcome, error, summary: '', usage, conversation: 'none' };
    return this.#tell({ type: 'FinishRun', data });
  }

  #fail(code: string, reason: string, sandbox_gone: boolean): Promise<void> {
    const data = { code, reason: summed(this.#redact(reason)), sandbox_gone };
    return this.#tell({ type: 'FailRun', data });
  }

  async #tell(command: { type: RunCommand['type']; data: object }): Promise<void> {
    const { runs, now } = this.#options;
    const full = { ...command, now: now().toISOString() } as RunCommand;
    const meta = metaOfEffect(this.#effect.payload, 'runs');
    const { events } = await runs.execute(this.#id, full, { meta });
    if (!events.some((type) => COUNTED.has(type))) return;
    const { state } = await runs.load(this.#id);
    if (state) this.#onRun(state);
  }
}

/** What the CLIs advise (`/login`) cannot be done in a sandbox; what can be done here is said too. */
const inWords = ({ kind, message }: NonNullable<TurnResult['error']>): string =>
  kind === 'authentication' ? `${message} (${CREDENTIALS_HINT})` : message;

const CREDENTIALS_HINT =
  "hangar has no valid key for the agent's provider: start it with ANTHROPIC_API_KEY, OPENAI_API_KEY " +
  'or the like, or set the key as a secret that the environment names';

const answeredOf = ({ ask, answer }: AnsweredAsk): TurnSpec['answered'] => ({
  ask: {
    id: ask.id,
    kind: ask.kind === 'decision' ? 'decision' : 'question',
    questions: ask.questions.map(({ is_multiple, ...question }) => ({
      ...question,
      isMultiple: is_multiple,
    })),
    ...(ask.tool === undefined
      ? {}
      : { tool: { name: ask.tool, input: parsed(ask.tool_input ?? 'null') } }),
  },
  answer: protocolAnswer(answer),
});

/** What was cut to a bound is no JSON any more, and is told as the text it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const refOf = (place: SandboxPlace): SandboxRef => ({
  id: place.sandbox_id,
  instance: place.instance,
});
