import type { Continuity, SandboxPlace } from '@hangar/contracts';
import { partNumber, turnOf } from '../../../libs/sessions/src/session.ts';
import {
  SANDBOX_TTL_MINUTES,
  SimFailure,
  type Computer,
  type SimWorld,
  type Task,
} from './sim-world.ts';

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
  if (task.kind !== 'notice' && task.kind !== 'cancel' && task.kind !== 'drop') {
    if (chance(0.02)) return void (task.wakeMs = Infinity);
    if (chance(0.06))
      return void (task.wakeMs = world.nowMs + random() * SLOW_MINUTES_MAX * MINUTE_MS);
    if (chance(0.03)) task.step = 0;
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
  /** The signal reaches the process: a hanging one answers, or is killed. */
  cancel(world, task) {
    const run = world.tasks.get(`run:${task.id}`);
    if (run) run.wakeMs = world.nowMs;
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

function run(world: SimWorld, task: Task, chance: (p: number) => boolean): boolean {
  const now = world.now();
  const state = world.log.state('run', task.id);
  if (!state) return true;
  const { turn } = state.request;
  const computer = world.computers.get(state.request.place.sandbox_id);
  const fail = (code: string, reason: string): boolean => {
    const data = { code, reason, sandbox_gone: code === 'sandbox_gone' };
    world.execute('run', task.id, { type: 'FailRun', now, data });
    return true;
  };
  const finish = (outcome: string): boolean => {
    const process = computer?.processes.get(task.id);
    if (process) process.isRunning = false;
    world.execute('run', task.id, {
      type: 'FinishRun',
      now,
      data: {
        outcome,
        summary: `${outcome}`,
        usage: { input_tokens: 1, output_tokens: 1, cached_tokens: 0 },
        harness_session: 'conversation-1',
        conversation: 'native',
        ...(outcome === 'succeeded' ? { exit_code: 0 } : { error: `it ${outcome}` }),
      },
    });
    return true;
  };
  if (state.status === 'ended') return true;
  if (!computer?.isAlive) return fail('sandbox_gone', 'the sandbox is gone');
  if (state.cancelling !== null) return finish('cancelled');
  const process = computer.processes.get(task.id);
  if (!process) {
    if (chance(0.04)) return fail('not_started', 'the harness is not installed');
    return startProcess(world, computer, task.id, turn)
      ? started(world, task)
      : fail('vanished', 'a later run is here');
  }
  if (!process.isRunning) return fail('vanished', 'the process is gone');
  if (chance(0.05)) {
    process.isRunning = false;
    return fail('vanished', 'the process was killed');
  }
  if (state.status === 'requested') return started(world, task);
  if (!state.delivered && !chance(0.3)) {
    world.execute('run', task.id, { type: 'MarkDelivered', now, data: {} });
    return false;
  }
  const isOpen = isOpenTurn(world, turn);
  makeUnit(world, computer, isOpen);
  if (isOpen) world.turnOfUnit.set(world.unitsMade, turn);
  if (chance(0.5) || task.step < 3) return false;
  return finish(chance(0.15) ? 'failed' : chance(0.05) ? 'timed_out' : 'succeeded');
}

function started(world: SimWorld, task: Task): false {
  const data = { conversation: 'native' };
  world.execute('run', task.id, { type: 'MarkStarted', now: world.now(), data });
  return false;
}

export function isOpenTurn(world: SimWorld, turn: number): boolean {
  const { phase } = world.session();
  return phase.state === 'ACTIVE' && phase.turn === turn && phase.step !== 'ended';
}

export function makeUnit(world: SimWorld, computer: Computer, isPromised: boolean): void {
  world.unitsMade += 1;
  computer.tree.add(world.unitsMade);
  computer.made.add(world.unitsMade);
  if (!isPromised) computer.stray.add(world.unitsMade);
}

/**
 * What the sandbox itself guarantees: the start of a run stops any other, and an older run does
 * not start after a newer one. What the log has to guarantee is checked: a run starts once, and
 * no other sandbox of the session has a process whose turn is open [M5].
 */
function startProcess(world: SimWorld, computer: Computer, runId: string, turn: number): boolean {
  const numbers = [...computer.processes.keys()].map((id) => partNumber(id));
  if (numbers.some((n) => n > partNumber(runId))) return false;
  for (const other of computer.processes.values()) other.isRunning = false;
  for (const other of world.computers.values())
    for (const [id, p] of other.processes)
      if (other !== computer && p.isRunning && isOpenTurn(world, p.turn))
        throw new SimFailure(`(b) ${runId} started while ${id} was at work in ${other.id}`);
  const starts = (world.starts.get(runId) ?? 0) + 1;
  world.starts.set(runId, starts);
  if (starts > 1) throw new SimFailure(`(b) ${runId} started twice`);
  const messageId = turnOf(world.session(), turn)?.message_id;
  const sameMessage = world.session().turns.filter((t) => t.message_id === messageId);
  if (sameMessage.length > 1) throw new SimFailure(`(b) ${messageId} was given to two turns`);
  computer.processes.set(runId, { turn, isRunning: true });
  return true;
}
