import { HangarError, sessionPartId, type SandboxPlace } from '@hangar/contracts';
import type { HarnessAdapter, TalkSpec } from '@hangar/harness-adapters';
import { metaOfEffect, type LeasedEffect } from '@hangar/messaging';
import { isTransientDatabaseError } from '@hangar/messaging/postgres';
import type { ExitStatus, SandboxIo, SandboxRef, TerminalStatus } from '@hangar/sandbox-drivers';
import { redactShapes, type CredentialAsker } from '@hangar/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { conversationFiles } from './conversation-files.ts';
import { keyCommand } from './key-command.ts';
import { mergeSettings } from './merge-settings.ts';
import { ALL_ALLOWED, asksLeave } from './permissions.ts';
import type { RunVariables } from './run-variables.ts';
import { watchLog } from './run-watch.ts';
import type { TerminalCommand } from './terminal.decider.ts';
import type { Terminals } from './terminal.service.ts';
import type { AgentTerminal, TerminalRequest } from './terminal.ts';

export interface TerminalWorkerOptions {
  terminals: Terminals;
  nats: NatsConnection;
  io: SandboxIo;
  adapter(harness: string): HarnessAdapter;
  runVariables(asker: CredentialAsker): Promise<RunVariables>;
  now(): Date;
  /** How often it is looked whether somebody is still there; specs shorten it. */
  lookMs?: number;
}

/** Tries at what nobody foresaw; then it is told, and the talk is over. */
const UNFORESEEN_ATTEMPTS_MAX = 4;
const LOOK_MS = 30_000;
/** A sandbox that cannot be asked is asked again after this, for as long as it takes [S5]. */
const RETRY_MS = 1_000;

export interface TerminalWorker {
  talk(effect: LeasedEffect, signal: AbortSignal): Promise<void>;
}

/**
 * The agent itself in a terminal [X8]: started once, found again by whoever comes back, and on
 * record as ended when its process is gone or nobody was there for long.
 */
export function createTerminalWorker(options: TerminalWorkerOptions): TerminalWorker {
  return {
    talk: (effect, signal) => new Talk(options, effect, signal).run(),
  };
}

class Talk {
  readonly #options: TerminalWorkerOptions;
  readonly #effect: LeasedEffect;
  readonly #id: string;
  readonly #signal: AbortSignal;
  readonly #ending = new AbortController();

  constructor(options: TerminalWorkerOptions, effect: LeasedEffect, signal: AbortSignal) {
    this.#options = options;
    this.#effect = effect;
    this.#id = String(effect.payload['terminal_id']);
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { terminals, nats } = this.#options;
    const load = async (): Promise<AgentTerminal | null> => (await terminals.load(this.#id)).state;
    const watch = watchLog({ nats, load }, this.#id, (state) => this.#heard(state));
    let ref: SandboxRef | undefined;
    try {
      const state = await load();
      if (!state || state.status === 'ended') return;
      this.#heard(state);
      ref = refOf(state.request.place);
      await this.#execute(state, ref);
    } catch (error) {
      this.#signal.throwIfAborted();
      const failure = HangarError.from(error);
      if (failure.code === 'unavailable' || isTransientDatabaseError(error)) throw error;
      if (failure.code === 'not_found') return this.#finish({ reason: 'its sandbox is gone' });
      const isAnswer = error instanceof HangarError && failure.code !== 'internal';
      if (!isAnswer && this.#effect.attempt < UNFORESEEN_ATTEMPTS_MAX) throw error;
      // No agent at work is left behind [M5].
      if (ref) await this.#options.io.terminals.close(ref, this.#id);
      await this.#finish({ reason: redactShapes(inWords(failure)) });
    } finally {
      watch.end();
    }
  }

  #heard({ ending }: AgentTerminal): void {
    if (ending !== null) this.#ending.abort(ending);
  }

  async #execute(state: AgentTerminal, ref: SandboxRef): Promise<void> {
    const { io } = this.#options;
    const found = await this.#find(ref);
    if (!found && state.status === 'started')
      return this.#finish({ reason: 'its process is not there any more' });
    if (!found && this.#ending.signal.aborted)
      return this.#finish({ reason: String(this.#ending.signal.reason) });
    if (!found) await this.#start(state.request, ref);
    await this.#tell({ type: 'MarkTerminalStarted', data: {} });
    const leaving = await this.#untilOver(state.request, ref);
    if (typeof leaving !== 'string') return this.#finish(endOf(leaving));
    await io.terminals.close(ref, this.#id);
    await this.#finish({ reason: leaving });
  }

  async #find(ref: SandboxRef): Promise<TerminalStatus | undefined> {
    const all = await this.#options.io.terminals.list(ref);
    return all.find(({ id }) => id === this.#id);
  }

  async #start(request: TerminalRequest, ref: SandboxRef): Promise<void> {
    const { io, adapter: adapterOf } = this.#options;
    const adapter = adapterOf(request.harness);
    if (!adapter.talk)
      throw new HangarError('invalid', `${request.harness} cannot be talked with in a terminal`);
    await this.#stopRun(request, ref);
    const spec = await this.#spec(request);
    const files = conversationFiles(io, ref);
    const check = await adapter.check(files, spec);
    if (check.state === 'missing')
      throw new HangarError('conflict', `the conversation is not there: ${check.reason}`);
    if (check.state === 'damaged') await files.write(check.path, check.repaired);
    const command = adapter.talk(spec);
    for (const { path, content, mode } of command.files)
      await io.files.put(ref, `${spec.home}/${path}`, Buffer.from(content), { mode });
    for (const { path, values } of command.settings)
      await mergeSettings(io.files, ref, `${spec.home}/${path}`, values);
    // Whoever lost the lease meanwhile starts nothing: somebody else is at it.
    this.#signal.throwIfAborted();
    const { argv } = command;
    const envVars = { COLORTERM: 'truecolor', ...command.envVars };
    const { cols, rows } = request;
    await io.terminals.open(ref, this.#id, { argv, cwd: spec.cwd, envVars, cols, rows });
  }

  /** The run of the newest turn was given up, perhaps, and still lives [M5]. */
  async #stopRun(request: TerminalRequest, ref: SandboxRef): Promise<void> {
    const { runs } = this.#options.io;
    if (request.turn === 0) return;
    const run = sessionPartId('run', request.session_id, request.turn);
    for (const id of [run, `${run}-handoff`]) {
      const status = await runs.status(ref, id);
      if (status.state === 'running') await runs.kill(ref, id, 'SIGKILL');
    }
  }

  async #spec(request: TerminalRequest): Promise<TalkSpec> {
    const { owner, environment, session_id: session, place } = request;
    const { envVars, askable } = await this.#options.runVariables({ owner, environment, session });
    return {
      cwd: place.cwd,
      home: place.home,
      node: place.node,
      harnessRoot: place.harness_root,
      model: request.model ?? null,
      conversationId: request.harness_session,
      envVars,
      keyCommands: Object.fromEntries(askable.map((name) => [name, keyCommand(place.tools, name)])),
      asksLeave: asksLeave(request.permissions ?? ALL_ALLOWED),
    };
  }

  /** How its process ended, or why it shall. */
  async #untilOver(request: TerminalRequest, ref: SandboxRef): Promise<ExitStatus | string> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#signal, over.signal]);
    try {
      return await Promise.race([
        this.#untilExit(ref, signal),
        aborted(this.#ending.signal),
        this.#untilForgotten(request, ref, signal),
      ]);
    } finally {
      over.abort(new Error('over'));
    }
  }

  async #untilExit(ref: SandboxRef, signal: AbortSignal): Promise<ExitStatus> {
    for (;;) {
      const exit = await this.#watch(ref, signal);
      signal.throwIfAborted();
      if (exit.kind !== 'connection_lost') return exit;
      await pause(RETRY_MS, signal);
    }
  }

  async #watch(ref: SandboxRef, signal: AbortSignal): Promise<ExitStatus> {
    const { terminals } = this.#options.io;
    try {
      const from = Number.MAX_SAFE_INTEGER;
      const view = await terminals.attach(ref, this.#id, { from, size: null }, signal);
      view.output.resume();
      return await view.exit;
    } catch (error) {
      signal.throwIfAborted();
      const { code } = HangarError.from(error);
      if (code === 'unavailable') return { kind: 'connection_lost' };
      if (code !== 'not_found') throw error;
      // The terminal, or its sandbox: what can be asked still says which.
      const isThere = await terminals.list(ref).then(
        () => true,
        (cause: unknown) => HangarError.from(cause).code !== 'not_found',
      );
      return isThere
        ? { kind: 'not_started', error: 'its process is gone' }
        : { kind: 'sandbox_gone' };
    }
  }

  /** A talk that nobody attends would hold up the messages for ever. */
  async #untilForgotten(
    { idle_minutes }: TerminalRequest,
    ref: SandboxRef,
    signal: AbortSignal,
  ): Promise<string> {
    const { now, lookMs = LOOK_MS } = this.#options;
    let printed = -1;
    let since = now().getTime();
    for (;;) {
      await pause(lookMs, signal);
      if (idle_minutes === 0) continue;
      const status = await this.#find(ref).catch(() => undefined);
      const isUsed = !status || status.viewers > 0 || status.printed !== printed;
      if (isUsed) since = now().getTime();
      printed = status?.printed ?? printed;
      if (now().getTime() - since >= idle_minutes * 60_000)
        return `nobody was there for ${idle_minutes} minutes`;
    }
  }

  #finish(data: { reason: string; exit_code?: number }): Promise<void> {
    return this.#tell({ type: 'FinishTerminal', data });
  }

  async #tell(command: Omit<TerminalCommand, 'now'>): Promise<void> {
    const { terminals, now } = this.#options;
    const full = { ...command, now: now().toISOString() } as TerminalCommand;
    await terminals.execute(this.#id, full, { meta: metaOfEffect(this.#effect.payload, 'runs') });
  }
}

const inWords = ({ message, hint }: HangarError): string =>
  hint ? `${message}; ${hint}` : message;

function endOf(exit: ExitStatus): { reason: string; exit_code?: number } {
  switch (exit.kind) {
    case 'exited':
      return { reason: 'the agent was left', exit_code: exit.code };
    case 'signalled':
      return { reason: `its process was ended by ${exit.signal}` };
    case 'sandbox_gone':
      return { reason: 'its sandbox is gone' };
    case 'not_started':
      return { reason: exit.error };
    default:
      return { reason: exit.kind };
  }
}

const refOf = (place: SandboxPlace): SandboxRef => ({
  id: place.sandbox_id,
  instance: place.instance,
});

const aborted = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(String(signal.reason));
    signal.addEventListener('abort', () => resolve(String(signal.reason)), { once: true });
  });

/** Rejects when the signal says that nobody waits any more. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
  });
