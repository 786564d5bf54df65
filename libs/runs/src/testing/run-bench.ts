/** One run of the fake harness on the fake driver, with the log in memory, for specs. */
import type { NatsConnection } from '@nats-io/nats-core';
import type pg from 'pg';
import { HangarError, validateEvent, type RunEvents, type SandboxPlace } from '@hangar/contracts';
import { fakeAdapter } from '@hangar/harness-adapters/fake';
import type { ActivityLog, LeasedEffect, RecordedEvent } from '@hangar/messaging';
import { createMemoryActivityLog, createMemoryLog } from '@hangar/messaging/memory';
import { createFakeDriver, type FakeDriver, type FakeRun } from '@hangar/sandbox-drivers/fake';
import { EXECUTE, createRuns, type Runs } from '../run.service.ts';
import { createRunWorker, type WorkerOptions } from '../run.worker.ts';
import type { RunRequest } from '../run.ts';

export const SANDBOX = 'sbx-1a2b3c4d-1';
export const CONVERSATION = '3a1f5f5e-0000-4000-8000-000000000001';
export const TRANSCRIPT = `/home/agent/.fake-harness/sessions/${CONVERSATION}.jsonl`;

export interface RunBench {
  driver: FakeDriver;
  runs: Runs;
  request: RunRequest;
  /** Moves when a test says so. */
  clock: { nowMs: number };
  /** Records the request; `with` changes it. */
  start(changes?: Partial<RunRequest>): Promise<void>;
  /** Executes the effect as the runner does; `signal` is the lease. */
  execute(options?: { attempt?: number; signal?: AbortSignal }): Promise<void>;
  /** The bus says that the run's log has something new. */
  nudge(): void;
  /** A credential is about to be handed out; resolves when the run has read it. */
  handOut(): Promise<void>;
  activity: ActivityLog;
  events(): Promise<RecordedEvent[]>;
  ended<K extends 'RunFinished' | 'RunFailed'>(type: K): Promise<RunEvents[K]>;
  process(suffix?: string): FakeRun;
}

export type Play = (run: FakeRun) => void;

export interface BenchOptions {
  play?: Play;
  variables?: WorkerOptions['runVariables'];
  handed?: WorkerOptions['handed'];
  adapter?: WorkerOptions['adapter'];
  /** Wraps the runs that the worker uses, for what fails between two of its steps. */
  wrap?(runs: Runs): Runs;
}

/** What the fake harness prints. */
export const print = (run: FakeRun, ...lines: object[]): void =>
  run.print(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

const usage = { input_tokens: 1, output_tokens: 2, cached_tokens: 0, cost_usd: 0 };
export const DONE = { type: 'done', outcome: 'succeeded', usage };

/** The id that the process was started with. */
export const sessionOf = (run: FakeRun): string =>
  run.request.argv[run.request.argv.indexOf('--session') + 1] ?? '';

/** Answers the message and leaves at the end of its input. */
export const answering =
  (text = 'all done'): Play =>
  (run) => {
    print(run, { type: 'session', id: sessionOf(run) });
    run.onInput(({ key, chunk }) => {
      if (key === 'prompt') {
        const { id } = JSON.parse(chunk.toString()) as { id: string };
        print(run, { type: 'accepted', id }, { type: 'said', text }, DONE);
      }
      if (chunk === 'eof') run.exit();
    });
  };

/** Says that it has the message and goes on working. */
export const working: Play = (run) => {
  print(run, { type: 'session', id: sessionOf(run) });
  run.onInput(({ key, chunk }) => {
    if (key === 'prompt') print(run, { type: 'accepted', id: idOf(chunk) });
  });
};

const idOf = (chunk: Buffer | 'eof'): string => (JSON.parse(chunk.toString()) as { id: string }).id;

export async function createRunBench(options: BenchOptions = {}): Promise<RunBench> {
  const clock = { nowMs: Date.parse('2030-01-01T12:00:00.000Z') };
  const now = (): Date => new Date(clock.nowMs);
  const driver = createFakeDriver({ run: options.play ?? answering() });
  const place = await createSandbox(driver);
  const log = createMemoryLog();
  const store = log.store({ owns: ['run'], validate: validateEvent });
  // Without anything alongside its events, the aggregate never asks the pool.
  const runs = createRuns(undefined as unknown as pg.Pool, store);
  const bus = fakeBus();
  const activity = createMemoryActivityLog();
  const worker = createRunWorker({
    runs: options.wrap ? options.wrap(runs) : runs,
    nats: bus.nats,
    activity,
    io: driver,
    adapter: options.adapter ?? (() => fakeAdapter),
    handed: options.handed ?? (async () => []),
    runVariables: options.variables ?? (async () => ({ envVars: {}, askable: [], secrets: [] })),
    now,
  });
  const request = requestAt(place);
  const meta = { actor: 'service:test', cause: null, correlation: request.session_id };
  const events = async (): Promise<RecordedEvent[]> =>
    (await store.load(`run/${request.run_id}`)).events;
  return {
    driver,
    runs,
    request,
    clock,
    start: async (changes = {}) => {
      const data = { ...request, ...changes };
      const command = { type: 'StartRun' as const, now: now().toISOString(), data };
      await runs.execute(request.run_id, command, { meta });
    },
    execute: ({ attempt = 1, signal = new AbortController().signal } = {}) => {
      const payload = { run_id: request.run_id, correlation: request.session_id };
      const effect: LeasedEffect = {
        key: `run/${request.run_id}`,
        kind: EXECUTE,
        stream: `run/${request.run_id}`,
        payload,
        attempt,
        done: async () => undefined,
      };
      return worker.execute(effect, signal);
    },
    nudge: bus.tell,
    handOut: bus.request,
    activity,
    events,
    ended: async (type) => {
      const event = (await events()).find((each) => each.type === type);
      if (!event) throw new Error(`${type} was not recorded`);
      return event.data as unknown as RunEvents[typeof type];
    },
    process: (suffix = '') => {
      const run = driver.run(SANDBOX, `${request.run_id}${suffix}`);
      if (!run) throw new Error('the process was not started');
      return run;
    },
  };
}

export async function createSandbox(driver: FakeDriver): Promise<SandboxPlace> {
  const ref = await driver.create({
    id: SANDBOX,
    sessionId: 'ses-1a2b3c4d',
    cwd: '/workspace/app',
    envVars: {},
    network: 'open',
    mounts: [],
    resources: {},
  });
  return {
    sandbox_id: SANDBOX,
    instance: ref.instance,
    home: '/home/agent',
    cwd: '/workspace/app',
    node: '/run/hangar/node',
    tools: '/run/hangar/tools',
    harness_root: '/hangar/harness',
  };
}

const requestAt = (place: SandboxPlace): RunRequest => ({
  run_id: 'run-1a2b3c4d-2',
  session_id: 'ses-1a2b3c4d',
  turn: 2,
  epoch: 1,
  owner: 'ada',
  environment: 'default',
  place,
  harness: 'fake',
  resume: false,
  message_id: 'msg-00000001',
  message: 'do it',
  notes: '',
  handoff: '',
  turn_minutes: 60,
});

type Listener = (error: null, message: { respond(): void }) => void;

export function fakeBus(): { nats: NatsConnection; tell(): void; request(): Promise<void> } {
  const listeners = new Map<Listener, string>();
  const nats = {
    subscribe: (subject: string, { callback }: { callback: Listener }) => {
      listeners.set(callback, subject);
      return { unsubscribe: () => void listeners.delete(callback) };
    },
    publish: () => undefined,
    isClosed: () => false,
  };
  return {
    nats: nats as unknown as NatsConnection,
    tell: () => {
      for (const listener of listeners.keys()) listener(null, { respond: () => undefined });
    },
    request: () =>
      new Promise((respond) => {
        for (const [listener, subject] of listeners)
          if (subject.startsWith('hangar.handed.')) listener(null, { respond });
      }),
  };
}

/** The driver's answer while nobody can ask it. */
export const unavailable = (): HangarError => new HangarError('unavailable', 'nobody answers');
