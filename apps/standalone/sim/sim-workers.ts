import type { Continuity, SandboxPlace, SessionEvents } from '@hangar/contracts';
import {
  SANDBOX_TTL_MINUTES,
  SimFailure,
  type Computer,
  type SimWorld,
  type Task,
} from './sim-world.ts';
import { run } from './sim-run.ts';
import { talk } from './sim-talk.ts';

export type Random = () => number;

const MINUTE_MS = 60_000;
const SLOW_MINUTES_MAX = 40;

const place = (sandboxId: string): SandboxPlace => ({
  sandbox_id: sandboxId,
  instance: `${sandboxId}-boot`,
  home: '/home/agent',
  cwd: '/workspace/repo',
  node: '/node',
  tools: '/tools',
  harness_root: '/harness',
});

/** One step of a worker; now and then it hangs, is slow, or starts over after a crash. */
export function stepTask(world: SimWorld, task: Task, random: Random): void {
  const chance = (p: number): boolean => random() < p * world.faults;
  if (task.kind !== 'notice' && task.kind !== 'nudge' && task.kind !== 'drop') {
    // A talk has no deadline, and no need of one: whoever comes back takes its lease.
    if (task.kind !== 'talk' && chance(0.02)) return void (task.wakeMs = Infinity);
    if (chance(0.06))
      return void (task.wakeMs = world.nowMs + random() * SLOW_MINUTES_MAX * MINUTE_MS);
    if (chance(0.03)) task.step = task.read = 0;
  }
  const isDone = WORKERS[task.kind](world, task, chance);
  if (isDone) world.tasks.delete(task.key);
  else task.step += 1;
}

type Worker = (world: SimWorld, task: Task, chance: (p: number) => boolean) => boolean;

const WORKERS: Record<Task['kind'], Worker> = {
  provision,
  destroy,
  capture,
  restore,
  run,
  talk,
  drop(world, task) {
    world.contents.delete(task.id);
    return true;
  },
  /** The watcher sees that a computer is gone. */
  notice(world, task) {
    world.execute('sandbox', task.id, {
      type: 'MarkLost',
      now: world.now(),
      data: { reason: 'the host went down' },
    });
    return true;
  },
  /** The word reaches the run or the talk: one that waits or hangs looks at its log, or is killed. */
  nudge(world, task) {
    const work = world.tasks.get(`run:${task.id}`) ?? world.tasks.get(`talk:${task.id}`);
    if (work) work.wakeMs = world.nowMs;
    return true;
  },
};

function provision(world: SimWorld, task: Task, chance: (p: number) => boolean): boolean {
  const now = world.now();
  const status = world.log.state('sandbox', task.id)?.status;
  if (task.step === 0) {
    const data = { phase: 'cloning', text: 'cloning the repository' };
    world.execute('sandbox', task.id, { type: 'NoteProgress', now, data });
    return false;
  }
  if (status !== 'provisioning') return true;
  if (chance(0.1)) {
    const data = { phase: 'cloning', reason: 'no such branch' };
    world.execute('sandbox', task.id, { type: 'MarkFailed', now, data });
    return true;
  }
  if (!world.computers.has(task.id))
    world.computers.set(task.id, {
      id: task.id,
      isAlive: true,
      tree: new Set(),
      made: new Set(),
      stray: new Set(),
      processes: new Map(),
      talks: new Map(),
    });
  if (task.step === 1 && chance(0.3)) return false;
  const expires_at = new Date(world.nowMs + SANDBOX_TTL_MINUTES * MINUTE_MS).toISOString();
  const data = { place: place(task.id), expires_at, environment_version: 1 };
  world.execute('sandbox', task.id, { type: 'MarkReady', now, data });
  return true;
}

export function stopComputer(computer: Computer): void {
  computer.isAlive = false;
  for (const process of computer.processes.values()) process.isRunning = false;
  for (const talked of computer.talks.values()) talked.isRunning = false;
}

/** [X3]: what is in the tree of a live session is in a complete checkpoint, or a person gave it up. */
function destroy(world: SimWorld, task: Task): boolean {
  if (task.step === 0) return false;
  const computer = world.computers.get(task.id);
  if (computer?.isAlive) {
    const unsaved = unsavedUnits(world, computer);
    if (unsaved.length && !mayLose(world, task.id))
      throw new SimFailure(`(c) ${task.id} was destroyed with unsaved work: ${unsaved.join(' ')}`);
    stopComputer(computer);
  }
  // A computer that is still being made when the destroy comes is found by its id and not made.
  world.tasks.delete(`provision:${task.id}`);
  const data = { cause: 'asked' };
  world.execute('sandbox', task.id, { type: 'MarkDestroyed', now: world.now(), data });
  return true;
}

export function unsavedUnits(world: SimWorld, computer: Computer): number[] {
  const saved = new Set<number>();
  for (const c of world.session().checkpoints)
    if (c.complete) for (const unit of world.contents.get(c.id)?.units ?? []) saved.add(unit);
  return [...computer.made].filter((unit) => !saved.has(unit) && !computer.stray.has(unit));
}

function mayLose(world: SimWorld, sandboxId: string): boolean {
  const { state } = world.session().phase;
  if (state === 'ARCHIVED' || state === 'DELETED') return true;
  const story = world.log.all.filter((r) => r.aggregate === 'session').map((r) => r.event);
  // A destroy that hung for long was right when it was asked for: what it relied on is older now
  // than those that are kept.
  const release = story.find(
    (e) => e.type === 'SandboxReleaseRequested' && e.data.sandbox_id === sandboxId,
  ) as { data: SessionEvents['SandboxReleaseRequested'] } | undefined;
  const reliedOn = release?.data.checkpoint_id;
  if (reliedOn !== undefined && !world.contents.has(reliedOn)) return true;
  const since = story.findIndex(
    (e) => e.type === 'SandboxRequested' && e.data.sandbox_id === sandboxId,
  );
  return story.slice(since).some((e) => e.type === 'SuspendRequested' && e.data.force);
}

function capture(world: SimWorld, task: Task, chance: (p: number) => boolean): boolean {
  const now = world.now();
  const request = world.log.state('checkpoint', task.id)?.request;
  if (!request) return true;
  const computer = world.computers.get(request.place.sandbox_id);
  if (task.step === 0 || !world.contents.has(task.id)) {
    if (!computer?.isAlive || chance(0.1)) {
      const data = { error: computer?.isAlive ? 'no space left' : 'the sandbox is gone' };
      world.execute('checkpoint', task.id, { type: 'MarkFailed', now, data });
      return true;
    }
    const fingerprint = fingerprintOf(computer.tree);
    if (request.unless_fingerprint === fingerprint && request.unless_checkpoint_id) {
      const data = { same_as: request.unless_checkpoint_id };
      world.execute('checkpoint', task.id, { type: 'MarkSkipped', now, data });
      return true;
    }
    const units = [...computer.tree];
    const isComplete = units.length === 0 || !chance(0.15);
    if (!isComplete) units.pop();
    world.contents.set(task.id, { units, isComplete, isCorrupt: chance(0.1) });
    task.step = 0;
    return false;
  }
  const content = world.contents.get(task.id);
  if (!content) return true;
  const events = world.execute('checkpoint', task.id, {
    type: 'MarkTaken',
    now,
    data: {
      complete: content.isComplete,
      parts: [{ name: 'wip', size: content.units.length, sha256: 'ab' }],
      skipped: content.isComplete ? [] : [{ path: 'big.bin', reason: 'too large' }],
      warnings: [],
      fingerprint: content.isComplete ? fingerprintOf(new Set(content.units)) : 'incomplete',
      taken_at: now,
    },
  });
  if (!events.length && world.log.state('checkpoint', task.id)?.status !== 'taken')
    world.contents.delete(task.id);
  return true;
}

const fingerprintOf = (tree: Set<number>): string => [...tree].sort((a, b) => a - b).join(' ');

function restore(world: SimWorld, task: Task, chance: (p: number) => boolean): boolean {
  const now = world.now();
  const { epoch } = task;
  const content = world.contents.get(task.id);
  const sandboxId = `sbx-0000abcd-${epoch}`;
  const computer = world.computers.get(sandboxId);
  if (!content || content.isCorrupt || !computer?.isAlive || chance(0.05)) {
    const data = { epoch, code: 'corrupt', error: 'a part does not have its hash' };
    world.execute('checkpoint', task.id, { type: 'MarkRestoreFailed', now, data });
    return true;
  }
  if (world.session().phase.state === 'RESUMING' || world.session().phase.state === 'STARTING')
    computer.tree = new Set(content.units);
  if (task.step === 0) return false;
  const losses = content.isComplete ? [] : [{ path: 'big.bin', reason: 'too large' }];
  const data = { epoch, continuity: continuity(losses) };
  world.execute('checkpoint', task.id, { type: 'MarkRestored', now, data });
  return true;
}

const continuity = (losses: Continuity['losses']): Continuity => {
  const kept = { state: losses.length ? 'partly' : 'kept' };
  return {
    conversation: kept,
    commits: kept,
    staged: kept,
    unstaged: kept,
    untracked: kept,
    ignored: { state: 'lost', detail: 'not asked for' },
    processes: { state: 'lost' },
    losses,
  };
};
