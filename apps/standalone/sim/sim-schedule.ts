import { seededRandom } from '../../../libs/testing/src/random.ts';
import { heldSandbox } from '../../../libs/sessions/src/session.ts';
import {
  chaosActions,
  dueTimers,
  lookAgain,
  machineActions,
  nextTimerMs,
  type Action,
} from './sim-actions.ts';
import { checkAlways, checkAtRest, isKept, isWaitingUp } from './sim-properties.ts';
import { SESSION_ID, SimFailure, SimWorld } from './sim-world.ts';

/** What happened, and the numbers it drew: enough to let it happen again. */
export interface Choice {
  label: string;
  seed: number;
}

export interface Outcome {
  choices: Choice[];
  failure: string | null;
  trace: string[];
  world: SimWorld;
}

const CHAOS_STEPS = 200;
/** Far above what any schedule needed (about 900): reaching it means going round in circles. */
const SETTLE_STEPS_MAX = 4000;
/** Times that somebody looks at the cards that wait once all is at rest. */
const LOOKS_MAX = 3;
/** Interval checkpoints after which a session that cannot be saved whole is taken to stay so. */
const ROUNDS_AT_REST_MAX = 4;

/** Chance decides what happens next, until people stop; then everything comes to rest. */
export function runSeed(seed: number): Outcome {
  const random = seededRandom(seed);
  return runSchedule(seed, (world, step) => {
    if (step >= CHAOS_STEPS) return null;
    // Mostly the machine gets on with it: otherwise no work would ever be done to be lost.
    const machine = machineActions(world);
    const isChaos = machine.length === 0 || random() < chaosShare(seed);
    const actions = isChaos ? chaosActions(world, seed % 5 === 0) : machine;
    const total = actions.reduce((sum, a) => sum + a.weight, 0);
    let at = random() * total;
    const action = actions.find((a) => (at -= a.weight) < 0) ?? actions[0];
    return action ? { action, seed: Math.floor(random() * 2 ** 31) } : null;
  });
}

/** The same choices again; one that cannot be made any more is left out. */
export function replay(seed: number, choices: Choice[]): Outcome {
  return runSchedule(seed, (world, step) => {
    world.isTraced = true;
    const choice = choices[step];
    if (!choice) return null;
    const actions = [...machineActions(world), ...chaosActions(world, true)];
    const action = actions.find((a) => a.label === choice.label);
    return { action: action ?? NOTHING, seed: choice.seed };
  });
}

/** From quiet days to bad ones. */
const chaosShare = (seed: number): number => [0.08, 0.15, 0.25, 0.4][seed % 4] ?? 0.2;

const NOTHING: Action = { label: '', weight: 0, run: () => {} };

type Next = (world: SimWorld, step: number) => { action: Action; seed: number } | null;

function runSchedule(seed: number, next: Next): Outcome {
  const world = new SimWorld();
  const choices: Choice[] = [];
  const outcome = (failure: string | null): Outcome => ({
    choices,
    failure,
    trace: world.trace,
    world,
  });
  try {
    create(world, seed);
    world.onEvents = checkAlways;
    for (let step = 0; ; step += 1) {
      const chosen = next(world, step);
      if (!chosen) break;
      const { action, seed: drawn } = chosen;
      if (action === NOTHING) continue;
      choices.push({ label: action.label, seed: drawn });
      world.note(() => action.label);
      action.run(world, seededRandom(drawn));
    }
    settle(world, seed);
    checkAtRest(world);
    for (let look = 0; look < LOOKS_MAX && lookAgain(world, seededRandom(seed + look)); look += 1) {
      settle(world, seed);
      checkAtRest(world);
    }
    return outcome(null);
  } catch (error) {
    const text = error instanceof SimFailure ? error.message : String((error as Error).stack);
    return outcome(text);
  }
}

function create(world: SimWorld, seed: number): void {
  const hasMessage = seed % 3 === 0;
  if (hasMessage) world.messages.push('msg-ffffffff');
  world.execute('session', SESSION_ID, {
    type: 'CreateSession',
    now: world.now(),
    data: {
      session_id: SESSION_ID,
      name: 'sim',
      title: '',
      owner: 'ada',
      environment: 'default',
      harness: 'fake',
      repo: '/srv/repo.git',
      branch: 'hangar/session/sim',
      cwd: '/workspace/repo',
      idle_minutes: 30,
      turn_minutes: 60,
      checkpoints_kept_max: 1 + (seed % 3),
      ...(hasMessage ? { message: { message_id: 'msg-ffffffff', text: 'begin' } } : {}),
    },
  });
}

/** People have stopped. Half of the days stay bad; every deadline has to be enough then. */
function settle(world: SimWorld, seed: number): void {
  const random = seededRandom(seed ^ 0x5eed);
  world.faults = seed % 2;
  let roundsAtRest = 0;
  for (let step = 0; step < SETTLE_STEPS_MAX; step += 1) {
    const actions = machineActions(world);
    if (actions.length === 0) {
      if (isAtRest(world) && isKept(world.session())) roundsAtRest += 1;
      if (isFinal(world) || roundsAtRest > ROUNDS_AT_REST_MAX) return;
      advance(world);
      continue;
    }
    const action = actions[Math.floor(random() * actions.length)];
    if (!action) continue;
    world.note(() => `settle: ${action.label}`);
    const due = dueTimers(world).length;
    const before = world.log.all.length;
    action.run(world, random);
    // A timer that came to nothing is looked at again a little later, as the ticker does.
    if (due && action.label.startsWith('timer') && world.log.all.length === before)
      world.nowMs += 60_000;
  }
  const { phase, state_reason } = world.session();
  throw new SimFailure(`(a) does not come to rest: ${phase.state}, ${state_reason}`);
}

const finiteTasks = (world: SimWorld): number[] =>
  [...world.tasks.values()].map((t) => t.wakeMs).filter((ms) => ms !== Infinity);

function isAtRest(world: SimWorld): boolean {
  if (finiteTasks(world).length) return false;
  const s = world.session();
  if (s.checkpointing || s.limited || s.talk) return false;
  if (isWaitingUp(s)) return true;
  return ['IDLE', 'INTERRUPTED', 'SUSPENDED', 'FAILED', 'ARCHIVED', 'DELETED'].includes(
    s.phase.state,
  );
}

function isFinal(world: SimWorld): boolean {
  const s = world.session();
  return isAtRest(world) && (!heldSandbox(s) || nextTimerMs(world) === Infinity);
}

/** To the next moment at which something happens by itself. */
function advance(world: SimWorld): void {
  const next = Math.min(nextTimerMs(world), ...finiteTasks(world));
  if (next === Infinity) {
    const { phase, state_reason } = world.session();
    throw new SimFailure(`(a) nothing will ever happen again: ${phase.state}, ${state_reason}`);
  }
  world.nowMs = Math.max(world.nowMs, next);
}

/** Leaves out choices as long as it still fails in the same way: what remains is the reason. */
export function shrink(seed: number, found: Outcome): Outcome {
  const kind = (failure: string | null): string => (failure ?? '').slice(0, 12);
  let best = found;
  let budget = 600;
  for (let size = Math.ceil(found.choices.length / 2); size >= 1;) {
    let isShorter = false;
    for (let at = 0; at < best.choices.length && budget > 0; at += size) {
      budget -= 1;
      const fewer = [...best.choices.slice(0, at), ...best.choices.slice(at + size)];
      const tried = replay(seed, fewer);
      if (kind(tried.failure) !== kind(found.failure)) continue;
      best = tried;
      isShorter = true;
    }
    if (!isShorter || budget <= 0) size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  return best;
}
