/** The sandbox worker on the fake driver, with the log in memory, for specs. */
import { once } from 'node:events';
import type pg from 'pg';
import { validateEvent, type SandboxEvent } from '@hangar/contracts';
import { createAggregate, type LeasedEffect, type RecordedEvent } from '@hangar/messaging';
import { createMemoryLog } from '@hangar/messaging/memory';
import type { SandboxDriver } from '@hangar/sandbox-drivers';
import {
  createFakeDriver,
  type FakeDriver,
  type FakeExec,
  type FakeExecResult,
} from '@hangar/sandbox-drivers/fake';
import { createEnvironments } from '../environment.service.ts';
import { environmentId } from '../environment.ts';
import { decide, type SandboxCommand } from '../sandbox.decider.ts';
import { evolve, initialState, type SandboxRequest, type SandboxState } from '../sandbox.ts';
import type { Sandboxes } from '../sandbox.service.ts';
import { createSandboxWorker, type WorkerOptions } from '../sandbox.worker.ts';

export const ID = 'sbx-1a2b3c4d-1';
const NOW = '2030-01-01T12:00:00.000Z';
const meta = { actor: 'service:test', cause: null, correlation: 'test' };
const never = new AbortController().signal;

const REQUEST: SandboxRequest = {
  sandbox_id: ID,
  session_id: 'ses-1a2b3c4d',
  epoch: 1,
  owner: 'ada',
  environment: 'default',
  harness: 'fake',
  repo: 'https://ada:s3cr3t@p4ss@example.org/repo.git',
  base_branch: 'main',
  branch: 'hangar/session/one',
  cwd: '/workspace/repo',
  purpose: 'start',
  requested_at: NOW,
};

export interface WorkerBench {
  driver: FakeDriver;
  sandboxes: Sandboxes;
  /** Plays what runs in the sandbox; the checkout succeeds unless it says otherwise. */
  play: { exec: (exec: FakeExec) => FakeExecResult | Promise<FakeExecResult> };
  worker: ReturnType<typeof createSandboxWorker>;
  tell(command: Omit<SandboxCommand, 'now'>): Promise<void>;
  provision(options?: { attempt?: number; signal?: AbortSignal }): Promise<void>;
  destroy(): Promise<void>;
  events(): Promise<RecordedEvent[]>;
  state(): Promise<NonNullable<SandboxState>>;
}

/** As the contract has it: the exit is known after the streams were read. */
const inOrder = (driver: FakeDriver): SandboxDriver => ({
  ...driver,
  exec: async (ref, request) => {
    const stream = await driver.exec(ref, request);
    const read = Promise.all([once(stream.stdout, 'close'), once(stream.stderr, 'close')]);
    return { ...stream, exit: read.then(() => stream.exit) };
  },
});

export async function createWorkerBench(
  options: Partial<WorkerOptions> & { recipe?: object } = {},
): Promise<WorkerBench> {
  const play: WorkerBench['play'] = { exec: () => ({}) };
  const driver = createFakeDriver({ exec: (exec) => play.exec(exec) });
  const log = createMemoryLog();
  const store = log.store({ owns: ['sandbox', 'environment'], validate: validateEvent });
  const pool = undefined as unknown as pg.Pool;
  const sandboxes = createAggregate<SandboxState, SandboxEvent, SandboxCommand>({
    aggregate: 'sandbox',
    pool,
    store,
    foldVersion: 1,
    initial: initialState,
    evolve,
    decide,
  });
  const environments = createEnvironments(pool, store);
  const recipe_json = JSON.stringify({ name: 'default', ...options.recipe });
  await environments.execute(
    environmentId('ada', 'default'),
    { type: 'DefineEnvironment', data: { owner: 'ada', name: 'default', recipe_json } },
    { meta },
  );
  const worker = createSandboxWorker({
    sandboxes,
    environments,
    driver: inOrder(driver),
    ttlMinutes: 60,
    installHarness: async () => '/opt/harness',
    revealSecrets: async () => ({}),
    forgetPresence: async () => undefined,
    credentials: {
      serve: () => undefined,
      handed: async () => [],
      forget: async () => undefined,
    },
    mirrors: {
      open: async () => null,
      feed: () => undefined,
      isFeeding: () => false,
      close: async () => undefined,
    },
    sandboxesAhead: async () => 0,
    activeMax: 4,
    now: () => new Date(NOW),
    ...options,
  });
  const effect = (attempt: number): LeasedEffect => ({
    key: 'k',
    kind: 'k',
    stream: `sandbox/${ID}`,
    payload: { sandbox_id: ID, cause: 'asked', correlation: 'test' },
    attempt,
    done: async () => undefined,
  });
  const tell: WorkerBench['tell'] = async (command) => {
    await sandboxes.execute(ID, { ...command, now: NOW } as SandboxCommand, { meta });
  };
  return {
    driver,
    sandboxes,
    play,
    worker,
    tell,
    provision: ({ attempt = 1, signal = never } = {}) => worker.provision(effect(attempt), signal),
    destroy: async () => {
      await tell({ type: 'DestroySandbox', data: { cause: 'asked', force: true } });
      await worker.destroy(effect(1), never);
    },
    events: async () => (await store.load(`sandbox/${ID}`)).events,
    state: async () => {
      const { state } = await sandboxes.load(ID);
      if (!state) throw new Error('there is no sandbox');
      return state;
    },
  };
}

export const request = (bench: WorkerBench, changes: Partial<SandboxRequest> = {}) =>
  bench.tell({ type: 'ProvisionSandbox', data: { ...REQUEST, ...changes } });
