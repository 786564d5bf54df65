/** The checkpoint worker with a scripted tool in a fake sandbox, and log and blobs in memory. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import type pg from 'pg';
import type { BlobStore } from '@hangar/blob-stores';
import { createMemoryBlobStore } from '@hangar/blob-stores/memory';
import { validateEvent, type CheckpointEvents, type SandboxPlace } from '@hangar/contracts';
import type { LeasedEffect, RecordedEvent } from '@hangar/messaging';
import { createMemoryLog, type MemoryLog } from '@hangar/messaging/memory';
import type { SandboxIo } from '@hangar/sandbox-drivers';
import {
  createFakeDriver,
  type FakeDriver,
  type FakeExec,
  type FakeExecResult,
} from '@hangar/sandbox-drivers/fake';
import { Vault } from '@hangar/service-kit';
import type { CheckpointCommand } from '../checkpoint.decider.ts';
import { createCheckpoints, type Checkpoints } from '../checkpoint.service.ts';
import { createCheckpointStore, type CheckpointStore } from '../checkpoint.store.ts';
import { createResidentTools } from '../resident-tool.ts';
import { createCheckpointWorker, type CheckpointWorker } from '../checkpoint.worker.ts';
import type { CheckpointRequest } from '../checkpoint.ts';
import { CHECKPOINT, SESSION, partOf } from './parts.ts';

const NOW = '2030-01-01T12:00:00.000Z';
const SANDBOX = 'sbx-1a2b3c4d-1';
const FINGERPRINT = 'f'.repeat(64);
const HEAD = 'a'.repeat(40);
const KEPT = {
  tracked_files: 1,
  changed_files: 0,
  untracked_files: 0,
  untracked_bytes: 0,
  conversation_files: 0,
  refs: 1,
  stashes: 0,
  nested_repositories: 0,
};

/** What the tool was asked. */
export interface Asked {
  verb: string;
  out: string;
  exec: FakeExec;
  request: Record<string, unknown>;
}

/** Plays the tool: writes files, and gives what it prints (as JSON unless it is text). */
export type Tool = (asked: Asked) => Promise<FakeExecResult | object>;

const patch = Buffer.from('diff --git a/a b/a\n');

/** A report as the tool gives it, over parts that it also writes. */
export async function capture(
  { exec, out, request }: Asked,
  changes: { parts?: Record<string, Buffer>; meta?: object } = {},
): Promise<Record<string, unknown>> {
  const contents = changes.parts ?? { 'wip.patch': patch };
  const parts = Object.entries(contents).map(([name, bytes]) => partEntry(name, bytes));
  const meta = Buffer.from(JSON.stringify({ ...metaOf(request, parts), ...changes.meta }));
  const all = { ...contents, 'meta.json': meta };
  for (const [name, bytes] of Object.entries(all)) await exec.files.put(`${out}/${name}`, bytes);
  return {
    fingerprint: FINGERPRINT,
    head: HEAD,
    head_ref: 'refs/heads/hangar/work',
    base: HEAD,
    prerequisites: [HEAD],
    parts: [...parts, partEntry('meta.json', meta)],
    complete: true,
    skipped: [],
    warnings: [],
    kept: KEPT,
  };
}

const partEntry = (name: string, bytes: Buffer): object => ({
  ...partOf(name, bytes),
  codec: 'none',
});

const metaOf = (request: Record<string, unknown>, parts: object[]): object => ({
  format: 1,
  checkpoint_id: request['checkpoint_id'],
  session_id: request['session_id'],
  reason: request['reason'],
  created_at: NOW,
  branch: 'hangar/work',
  head: HEAD,
  head_ref: 'refs/heads/hangar/work',
  base: HEAD,
  base_branch: null,
  harness: 'fake',
  harness_session: null,
  cwd: '/workspace/app',
  object_format: 'sha1',
  worktree_tree: HEAD,
  index_tree: HEAD,
  prerequisites: [HEAD],
  conversation_directories: ['.fake-harness/sessions'],
  fingerprint: FINGERPRINT,
  complete: true,
  skipped: [],
  warnings: [],
  kept: KEPT,
  ignored: { count: 0, paths: [] },
  parts: parts.filter((part) => (part as { name: string }).name !== 'meta.json'),
});

const KEPT_WHOLE = Object.fromEntries(
  ['conversation', 'commits', 'staged', 'unstaged', 'untracked', 'ignored', 'processes'].map(
    (name) => [name, { state: 'kept' }],
  ),
);

export const restored = (changes: object = {}): object => ({
  continuity: KEPT_WHOLE,
  losses: [],
  head: HEAD,
  head_ref: null,
  proof: { worktree: true, index: true, refs: true },
  ...changes,
});

export interface WorkerBench {
  driver: FakeDriver;
  /** The driver's byte streams as its contract has them. */
  io: SandboxIo;
  blobs: BlobStore;
  log: MemoryLog;
  store: CheckpointStore;
  checkpoints: Checkpoints;
  worker: CheckpointWorker;
  place: SandboxPlace;
  tool: { play: Tool; verbs: string[] };
  request(changes?: Partial<CheckpointRequest>): Promise<void>;
  take(options?: { attempt?: number; signal?: AbortSignal }): Promise<void>;
  requestRestore(epoch: number): Promise<void>;
  restore(epoch: number, options?: { attempt?: number }): Promise<void>;
  tell(command: Omit<CheckpointCommand, 'now'>): Promise<void>;
  events(): Promise<RecordedEvent[]>;
  outcome<K extends keyof CheckpointEvents>(type: K): Promise<CheckpointEvents[K]>;
}

/** As the contract has it: the exit is known after the streams were read. */
const inOrder = (io: SandboxIo): SandboxIo => ({
  ...io,
  exec: async (ref, request) => {
    const stream = await io.exec(ref, request);
    const read = Promise.all([once(stream.stdout, 'close'), once(stream.stderr, 'close')]);
    return { ...stream, exit: read.then(() => stream.exit) };
  },
});

export async function createWorkerBench(): Promise<WorkerBench> {
  const tool: WorkerBench['tool'] = { play: async (asked) => capture(asked), verbs: [] };
  const driver = createFakeDriver({
    exec: (exec) => playTool(tool, exec),
    // As where it cannot stay: every call is one of its own.
    converse: () => Readable.from([]),
  });
  const place = await createSandbox(driver);
  const log = createMemoryLog();
  const events = log.store({ owns: ['checkpoint'], validate: validateEvent });
  // Without anything alongside its events, the aggregate never asks the pool.
  const checkpoints = createCheckpoints(undefined as unknown as pg.Pool, events);
  const blobs = createMemoryBlobStore();
  const store = createCheckpointStore(blobs, new Vault([randomBytes(32)]));
  const io = inOrder(driver);
  const worker = createCheckpointWorker({
    checkpoints,
    store,
    io,
    tools: createResidentTools(io),
    conversationDirectories: () => ['.fake-harness/sessions'],
    caps: async () => ({ partBytesMax: 1_000_000, untrackedBytesMax: 1_000_000 }),
    now: () => new Date(NOW),
  });
  const about = { checkpoint_id: CHECKPOINT, session_id: SESSION };
  const tell: WorkerBench['tell'] = async (command) => {
    const meta = { actor: 'service:test', cause: null, correlation: SESSION };
    const full = { ...command, now: NOW } as CheckpointCommand;
    await checkpoints.execute(CHECKPOINT, full, { meta });
  };
  const all = async (): Promise<RecordedEvent[]> =>
    (await events.load(`checkpoint/${CHECKPOINT}`)).events;
  const never = new AbortController().signal;
  const bench: WorkerBench = {
    driver,
    io,
    blobs,
    log,
    store,
    checkpoints,
    worker,
    place,
    tool,
    tell,
    events: all,
    request: (changes = {}) => {
      const rest = { epoch: 1, reason: 'turn', turn: 1, place, harness: 'fake' };
      return tell({ type: 'TakeCheckpoint', data: { ...about, ...rest, ...changes } });
    },
    take: ({ attempt = 1, signal = never } = {}) => worker.take(effect(about, attempt), signal),
    requestRestore: (epoch) =>
      tell({ type: 'RestoreCheckpoint', data: { ...about, epoch, place, harness: 'fake' } }),
    restore: (epoch, { attempt = 1 } = {}) =>
      worker.restore(effect({ ...about, epoch, place, harness: 'fake' }, attempt), never),
    outcome: async (type) => {
      const event = (await all()).find((each) => each.type === type);
      if (!event) throw new Error(`${type} was not recorded`);
      return event.data as unknown as CheckpointEvents[typeof type];
    },
  };
  return bench;
}

const effect = (payload: LeasedEffect['payload'] | object, attempt: number): LeasedEffect => ({
  key: 'k',
  kind: 'k',
  stream: `checkpoint/${CHECKPOINT}`,
  payload: payload as LeasedEffect['payload'],
  attempt,
  done: async () => undefined,
});

async function playTool(tool: WorkerBench['tool'], exec: FakeExec): Promise<FakeExecResult> {
  const verb = exec.argv.at(-1) ?? '';
  tool.verbs.push(verb);
  const request = JSON.parse(exec.stdin.toString()) as Record<string, unknown>;
  const out = String(request['out'] ?? request['parts']);
  const answer = await tool.play({ verb, out, exec, request });
  if ('stdout' in answer || 'exit' in answer) return answer;
  return { stdout: JSON.stringify(answer) };
}

async function createSandbox(driver: FakeDriver): Promise<SandboxPlace> {
  const ref = await driver.create({
    id: SANDBOX,
    sessionId: SESSION,
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
