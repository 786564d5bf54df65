import {
  HangarError,
  SUMMARY_BYTES_MAX,
  deriveUuid,
  sessionPartId,
  type SandboxPlace,
} from '@hangar/contracts';
import type { HarnessAdapter, TurnSpec } from '@hangar/harness-adapters';
import { metaOfEffect, type LeasedEffect } from '@hangar/messaging';
import type { SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';
import { createRedactor } from '@hangar/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { conversationFiles } from './conversation-files.ts';
import type { RunCommand } from './run.decider.ts';
import { cancelSubject, type Runs } from './run.service.ts';
import type { Run, RunRequest } from './run.ts';
import { driveTurn, type ProcessEnd, type StopReason } from './turn-process.ts';

export interface WorkerOptions {
  runs: Runs;
  nats: NatsConnection;
  io: SandboxIo;
  adapter(harness: string): HarnessAdapter;
  /** Environment variables of a run: the recipe's, and the owner's secrets that it names. */
  runVariables(
    owner: string,
    environment: string,
  ): Promise<{ envVars: Record<string, string>; secrets: { name: string; value: string }[] }>;
  now(): Date;
}

/** A cancel that the bus lost is read from the log within this time. */
const CANCEL_SWEEP_MS = 5_000;

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

class Execution {
  readonly #options: WorkerOptions;
  readonly #effect: LeasedEffect;
  readonly #id: string;
  readonly #signal: AbortSignal;

  constructor(options: WorkerOptions, effect: LeasedEffect, id: string, signal: AbortSignal) {
    this.#options = options;
    this.#effect = effect;
    this.#id = id;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { runs } = this.#options;
    const stop = new AbortController();
    const watch = this.#watchForStop(stop);
    try {
      const { state } = await runs.load(this.#id);
      if (!state || state.status === 'ended') return;
      if (state.cancelling !== null) stop.abort('cancelled' satisfies StopReason);
      watch.limit(state);
      await this.#execute(state.request, state.status === 'started', stop.signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      const failure = HangarError.from(error);
      // What cannot be asked is asked again by the effect's next attempt; nothing is recorded.
      if (failure.code === 'unavailable') throw error;
      if (failure.code === 'not_found') return this.#fail('sandbox_gone', failure.message, true);
      await this.#finishFailed(failure.message);
    } finally {
      watch.end();
    }
  }

  async #execute(request: RunRequest, wasStarted: boolean, stop: AbortSignal): Promise<void> {
    const { io, adapter: adapterOf } = this.#options;
    const adapter = adapterOf(request.harness);
    const ref = refOf(request.place);
    const variables = await this.#options.runVariables(request.owner, request.environment);
    const redact = createRedactor(variables.secrets);
    const native = this.#spec(request, variables.envVars, 'native');
    const handoff = this.#spec(request, variables.envVars, 'handoff');
    const known = async (spec: TurnSpec): Promise<boolean> =>
      (await io.runs.status(ref, spec.runId)).state !== 'unknown';

    let conversation: Conversation = 'native';
    if (await known(handoff)) conversation = 'handoff';
    else if (!(await known(native))) {
      if (wasStarted) return this.#fail('vanished', 'the agent is not there any more', false);
      await this.#stopOthers(ref, request);
      conversation = await this.#prepare(adapter, ref, native);
      if (stop.aborted) return this.#finishCancelled();
    }
    let spec = conversation === 'native' ? native : handoff;
    await this.#start(adapter, ref, spec);
    await this.#tell({ type: 'MarkStarted', data: { conversation } });
    let end = await this.#drive(adapter, ref, spec, stop);
    if (end.kind === 'wrong_conversation' && conversation === 'native') {
      // Exactly one fallback, labelled as what it is [R3].
      conversation = 'handoff';
      spec = handoff;
      await this.#start(adapter, ref, spec);
      end = await this.#drive(adapter, ref, spec, stop);
    }
    await this.#record(end, conversation, spec, redact, stop);
  }

  /**
   * One agent works on a session at a time [M5]: a run that was given up but still lives in this
   * sandbox ends before this one starts.
   */
  async #stopOthers(ref: SandboxRef, request: RunRequest): Promise<void> {
    const { runs } = this.#options.io;
    // Each start ends the one before it, so no older one can be left.
    const before = sessionPartId('run', request.session_id, request.turn - 1);
    for (const other of [before, `${before}-handoff`]) {
      const status = await runs.status(ref, other);
      if (status.state === 'running') await runs.kill(ref, other, 'SIGKILL');
    }
  }

  /** The conversation's files are where the harness will look, and whole, or it is handed off [R3]. */
  async #prepare(adapter: HarnessAdapter, ref: SandboxRef, spec: TurnSpec): Promise<Conversation> {
    if (!spec.resume || spec.conversationId === null) return 'native';
    const files = conversationFiles(this.#options.io, ref);
    const { home, cwd, conversationId } = spec;
    const check = await adapter.check(files, { home, cwd, conversationId });
    if (check.state === 'missing') return 'handoff';
    if (check.state === 'damaged') await files.write(check.path, check.repaired);
    return 'native';
  }

  #spec(
    request: RunRequest,
    envVars: Record<string, string>,
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
    };
  }

  async #start(adapter: HarnessAdapter, ref: SandboxRef, spec: TurnSpec): Promise<void> {
    const { io } = this.#options;
    if ((await io.runs.status(ref, spec.runId)).state !== 'unknown') return;
    const command = adapter.command(spec);
    for (const { path, content, mode } of command.files)
      await io.files.put(ref, `${spec.home}/${path}`, Buffer.from(content), { mode });
    await io.runs.start(ref, spec.runId, {
      argv: command.argv,
      cwd: spec.cwd,
      envVars: command.envVars,
    });
  }

  #drive(
    adapter: HarnessAdapter,
    ref: SandboxRef,
    spec: TurnSpec,
    stop: AbortSignal,
  ): Promise<ProcessEnd> {
    const expected = spec.resume || adapter.capabilities.choosesId ? spec.conversationId : null;
    return driveTurn({
      io: this.#options.io,
      ref,
      processId: spec.runId,
      protocol: adapter.protocol(spec),
      expectedConversation: expected,
      onDelivered: () => this.#tell({ type: 'MarkDelivered', data: {} }),
      stop,
      signal: this.#signal,
    });
  }

  async #record(
    end: ProcessEnd,
    conversation: Conversation,
    spec: TurnSpec,
    redact: (text: string) => string,
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
        summary: clip(redact(result.summary)),
        usage: result.usage,
        ...(result.error
          ? { error: clip(redact(result.error.message)), error_kind: result.error.kind }
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
    return this.#finish('failed', clip(error));
  }

  #finish(outcome: string, error: string): Promise<void> {
    const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
    const data = { outcome, error, summary: '', usage, conversation: 'none' };
    return this.#tell({ type: 'FinishRun', data });
  }

  #fail(code: string, reason: string, sandbox_gone: boolean): Promise<void> {
    return this.#tell({ type: 'FailRun', data: { code, reason, sandbox_gone } });
  }

  async #tell(command: { type: RunCommand['type']; data: object }): Promise<void> {
    const { runs, now } = this.#options;
    const full = { ...command, now: now().toISOString() } as RunCommand;
    await runs.execute(this.#id, full, { meta: metaOfEffect(this.#effect.payload, 'runs') });
  }

  /** Stops come over the bus at once and from the log for good; time limits from the clock. */
  #watchForStop(stop: AbortController): { limit(run: Run): void; end(): void } {
    const { nats, runs, now } = this.#options;
    const cancel = (): void => stop.abort('cancelled' satisfies StopReason);
    const subscription = nats.subscribe(cancelSubject(this.#id), { callback: cancel });
    const sweep = setInterval(() => {
      void runs
        .load(this.#id)
        .then(({ state }) => {
          if (state?.cancelling !== null) cancel();
        })
        .catch(() => undefined);
    }, CANCEL_SWEEP_MS);
    let limit: NodeJS.Timeout | undefined;
    return {
      limit: ({ request, started_at }) => {
        const from = started_at === null ? now() : new Date(started_at);
        const leftMs = from.getTime() + request.turn_minutes * 60_000 - now().getTime();
        limit = setTimeout(() => stop.abort('timed_out' satisfies StopReason), Math.max(0, leftMs));
      },
      end: () => {
        if (!nats.isClosed()) subscription.unsubscribe();
        clearInterval(sweep);
        clearTimeout(limit);
      },
    };
  }
}

const refOf = (place: SandboxPlace): SandboxRef => ({
  id: place.sandbox_id,
  instance: place.instance,
});

/** hangar's own lines come first and say that they are hangar's; the person's text is last, whole. */
function promptOf(request: RunRequest, conversation: Conversation): string {
  const notes = request.notes
    ? `[hangar: since your last turn:\n${request.notes
        .split('\n')
        .map((line) => `- ${line}`)
        .join('\n')}]\n\n`
    : '';
  if (conversation === 'native' || !request.handoff) return notes + request.message;
  return `[hangar: ${request.handoff}]\n\n${notes}New message:\n${request.message}`;
}

function clip(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= SUMMARY_BYTES_MAX) return text;
  return `${new TextDecoder().decode(bytes.subarray(0, SUMMARY_BYTES_MAX)).replace(/�$/, '')} [cut]`;
}
