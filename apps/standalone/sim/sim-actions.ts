import { HangarError, RELEASE_DEADLINE_MINUTES, sessionPartId } from '@hangar/contracts';
import { heldSandbox, isAsk, turnOf, type Session } from '../../../libs/sessions/src/session.ts';
import type { CommandOf, SessionCommand } from '../../../libs/sessions/src/session.commands.ts';
import {
  wantedTimers,
  type SessionSettings,
  type WantedTimer,
} from '../../../libs/sessions/src/session.timers.ts';
import { SESSION_ID, SimFailure, type Consumer, type SimWorld } from './sim-world.ts';
import { isOpenTurn, makeUnit } from './sim-run.ts';
import { stepTask, stopComputer, type Random } from './sim-workers.ts';

/** Something that may happen next. Its label names it in a trace, and when a trace is replayed. */
export interface Action {
  label: string;
  weight: number;
  run(world: SimWorld, random: Random): void;
}

export const SETTINGS: SessionSettings = { startDeadlineMinutes: 15, checkpointMinutes: 10 };
const MINUTE_MS = 60_000;

/** What happens by itself: deliveries in the order of each stream, work outside, timers due. */
export function machineActions(world: SimWorld): Action[] {
  const actions: Action[] = [];
  for (const { consumer, stream } of world.deliverable())
    actions.push({
      label: `deliver ${consumer} ${stream}`,
      weight: 6,
      run: (w, random) => w.deliver(consumer, stream, random() > 0.05 * w.faults),
    });
  for (const task of world.tasks.values())
    if (task.wakeMs <= world.nowMs)
      actions.push({
        label: `work ${task.key}`,
        weight: 4,
        run: (w, random) => stepTask(w, task, random),
      });
  for (const timer of dueTimers(world))
    actions.push({ label: `timer ${timer.kind}`, weight: 2, run: (w, r) => fire(w, timer, r) });
  return actions;
}

interface TimerAt {
  timer: WantedTimer;
  dueMs: number;
}

/** As wanted by a state; states do not change in place, so each is asked once. */
const wantedBy = new WeakMap<Session, TimerAt[]>();

function timersOf(world: SimWorld): TimerAt[] {
  const s = world.session();
  const known = wantedBy.get(s);
  if (known) return known;
  const timers = wantedTimers(s, SETTINGS).map((timer) => ({
    timer,
    dueMs: Date.parse(timer.dueAt),
  }));
  wantedBy.set(s, timers);
  return timers;
}

export const dueTimers = (world: SimWorld): WantedTimer[] =>
  timersOf(world).flatMap((t) => (t.dueMs <= world.nowMs ? [t.timer] : []));

/** Infinity when the session waits for nothing. */
export const nextTimerMs = (world: SimWorld): number =>
  Math.min(Infinity, ...timersOf(world).map((t) => t.dueMs));

/** The ticker: each kind of timer is one command, judged by the decider. */
function fire(world: SimWorld, timer: WantedTimer, random: Random): void {
  const s = world.session();
  const now = world.now();
  const execute = (command: SessionCommand): unknown =>
    world.execute('session', SESSION_ID, command);
  switch (timer.kind) {
    case 'start':
      return void execute({
        type: 'FailIfLate',
        now,
        data: { start_deadline_minutes: SETTINGS.startDeadlineMinutes },
      });
    case 'release':
      return void execute({
        type: 'SuspendIfReleaseLate',
        now,
        data: { release_deadline_minutes: RELEASE_DEADLINE_MINUTES },
      });
    case 'limit':
      return void execute({ type: 'EndUsageLimit', now, data: {} });
    case 'interval':
      return void execute({
        type: 'CheckpointIfDue',
        now,
        data: { checkpoint_minutes: SETTINGS.checkpointMinutes },
      });
    case 'idle': {
      const busy = random() < 0.1 * world.faults;
      return void execute({
        type: 'SuspendIfIdle',
        now,
        data: { last_active_at: world.lastExecAt, busy },
      });
    }
    case 'checkpoint': {
      if (!s.checkpointing) return;
      const { id, reason } = s.checkpointing;
      const data = { checkpoint_id: id, reason, error: 'no word in time' };
      return void execute({ type: 'MissCheckpoint', now, data });
    }
    case 'turn': {
      if (s.phase.state !== 'ACTIVE') return;
      const { turn } = s.phase;
      const run_id = turnOf(s, turn)?.run_id ?? '';
      const data = {
        turn,
        run_id,
        reason: 'no word in time',
        sandbox_gone: false,
        is_silent: true,
      };
      return void execute({ type: 'LoseTurn', now, data });
    }
  }
}

/** Minutes and weight: deadlines pass now and then, not all the time. */
const CLOCK: [number, number][] = [
  [1, 4],
  [10, 2],
  [31, 1],
  [80, 0.4],
];

/** What people, the world and a bad day do. */
export function chaosActions(world: SimWorld, mayEnd: boolean): Action[] {
  const actions: Action[] = [
    ...CLOCK.map(([minutes, weight]) => ({
      label: `clock +${minutes}`,
      weight,
      run: (w: SimWorld) => void (w.nowMs += minutes * MINUTE_MS),
    })),
    { label: 'redeliver', weight: 3, run: redeliver },
    { label: 'stale', weight: 2, run: stale },
    ...(mayEnd ? [...PEOPLE, ...ENDINGS] : PEOPLE).map(([verb, weight, command]) => ({
      ...person(verb, command),
      weight,
    })),
    { label: 'person exec', weight: 3, run: exec },
  ];
  const { attention, queue, phase } = world.session();
  // People answer what they are asked, speak into a running turn, and change their minds.
  if (attention.some(isAsk)) actions.push({ ...person('answer', answer), weight: 14 });
  if (phase.state === 'ACTIVE' && phase.step === 'running')
    actions.push({ ...person('steer', steer), weight: 6 });
  if (queue.some((m) => m.offered)) actions.push({ ...person('take back', takeBack), weight: 6 });
  for (const computer of world.computers.values())
    if (computer.isAlive)
      actions.push({
        label: `lose ${computer.id}`,
        weight: 1.2,
        run: (w) => {
          stopComputer(computer);
          w.add('notice', computer.id, 0);
        },
      });
  const hold = heldSandbox(world.session());
  const expires = hold && world.log.state('sandbox', hold.id)?.expires_at;
  if (hold && expires && expires <= world.now())
    actions.push({ label: 'expire', weight: 4, run: (w, random) => expire(w, hold.id, random) });
  return actions;
}

function expire(world: SimWorld, sandboxId: string, random: Random): void {
  const data = { busy: random() < 0.3 };
  world.execute('sandbox', sandboxId, { type: 'ExpireSandbox', now: world.now(), data });
}

const person = (verb: string, command: Ask): Omit<Action, 'weight'> => ({
  label: `person ${verb}`,
  run: (w, random) => ask(w, command(w, random)),
});

type Ask = (world: SimWorld, random: Random) => SessionCommand;

const MODES = ['auto', 'auto', 'steer', 'queue', 'interrupt'] as const;

function send(world: SimWorld, random: Random): CommandOf<'SendMessage'> {
  const known = world.messages.at(Math.floor(random() * world.messages.length));
  const isAgain = known !== undefined && random() < 0.15;
  const message_id = isAgain
    ? known
    : `msg-${(world.messages.length + 1).toString(16).padStart(8, '0')}`;
  if (!isAgain) world.messages.push(message_id);
  const mode = MODES[Math.floor(random() * MODES.length)] ?? 'auto';
  return {
    type: 'SendMessage',
    now: world.now(),
    data: { message_id, text: 'do it', mode, steers: random() < 0.8 },
  };
}

const steer: Ask = (world, random) => {
  const command = send(world, random);
  return { ...command, data: { ...command.data, mode: 'steer', steers: true } };
};

/** Days later somebody looks at what still waits, and answers it in one way or another. */
export function lookAgain(world: SimWorld, random: Random): boolean {
  if (!world.session().attention.some(isAsk)) return false;
  ask(world, random() < 0.7 ? answer(world, random) : send(world, random));
  return true;
}

/** Mostly a card that waits; now and then one that is closed. */
function answer(world: SimWorld, random: Random): SessionCommand {
  const s = world.session();
  const open = s.attention.filter(isAsk);
  const card = open[Math.floor(random() * open.length)];
  const card_id = (random() < 0.1 ? undefined : card?.id) ?? s.closed.at(-1)?.card_id ?? 'card-0';
  const answers =
    card?.asked.questions.map(({ id }) => ({ question_id: id, text: 'like this' })) ?? [];
  const data = { card_id, answer: { verdict: 'allow', answers, reason: '' }, answered_by: 'ada' };
  return { type: 'AnswerCard', now: world.now(), data };
}

/** One of the newest ones, most of the time: those are where it is close. */
function takeBack(world: SimWorld, random: Random): SessionCommand {
  const ids = random() < 0.7 ? world.messages.slice(-2) : world.messages;
  const message_id = ids[Math.floor(random() * ids.length)] ?? 'msg-0';
  return { type: 'TakeBackMessage', now: world.now(), data: { message_id } };
}

const plain =
  (type: 'OpenSession' | 'InterruptTurn' | 'RetryTurn' | 'ContinueSession' | 'TakeCheckpoint') =>
  (world: SimWorld): SessionCommand => ({ type, now: world.now(), data: {} });

const PEOPLE: [string, number, Ask][] = [
  ['send', 9, send],
  ['open', 3, plain('OpenSession')],
  ['interrupt', 2, plain('InterruptTurn')],
  ['retry', 4, plain('RetryTurn')],
  ['continue', 3, plain('ContinueSession')],
  ['checkpoint', 2, plain('TakeCheckpoint')],
  ['suspend', 3, (w) => ({ type: 'SuspendSession', now: w.now(), data: { force: false } })],
  ['force suspend', 0.5, (w) => ({ type: 'SuspendSession', now: w.now(), data: { force: true } })],
  [
    'keep',
    1,
    (w, random) => ({
      type: 'KeepSession',
      now: w.now(),
      data: { idle_minutes: random() < 0.3 ? 0 : 30 },
    }),
  ],
  ['take back', 4, takeBack],
  [
    'harness',
    1.5,
    (w, random) => ({
      type: 'ChangeHarness',
      now: w.now(),
      data: { harness: random() < 0.5 ? 'fake' : 'other', model: random() < 0.3 ? 'm' : null },
    }),
  ],
  ['answer', 1, answer],
  [
    'talk',
    5,
    (w, random) => ({
      type: 'StartTalk',
      now: w.now(),
      // Now and then the same request comes again.
      data: {
        request_id: `req-${w.session().talk_number + (random() < 0.1 ? 0 : 1)}`,
        cols: 80,
        rows: 24,
        talks: true,
      },
    }),
  ],
  ['end talk', 2, (w, random) => endTalk(w, random)],
];

/** Of the newest talk, or of one before. */
function endTalk(world: SimWorld, random: Random): SessionCommand {
  const number = world.session().talk_number - (random() < 0.2 ? 1 : 0);
  return {
    type: 'EndTalk',
    now: world.now(),
    data: { terminal_id: sessionPartId('trm', SESSION_ID, Math.max(1, number)) },
  };
}

const ENDINGS: typeof PEOPLE = [
  ['archive', 0.3, (w) => ({ type: 'ArchiveSession', now: w.now(), data: {} })],
  [
    'delete',
    0.3,
    (w, random) => ({
      type: 'DeleteSession',
      now: w.now(),
      data: { force: random() < 0.5, deleted_by: 'owner:ada' },
    }),
  ],
];

/** People may be refused, with a reason; nobody else is ever refused. */
function ask(world: SimWorld, command: SessionCommand): void {
  const { stackTraceLimit } = Error;
  try {
    // Refusals are many here, and nobody reads where they were thrown.
    Error.stackTraceLimit = 0;
    const { limited, queue } = world.session();
    world.execute('session', SESSION_ID, command);
    // Who goes on without the turn that waits for its limit does not want its message again.
    if (limited && command.type === 'ContinueSession')
      for (const m of queue) if (m.mode === 'retry') world.wantedBack.add(m.message_id);
    if (command.type === 'TakeBackMessage') world.wantedBack.add(command.data.message_id);
  } catch (error) {
    if (!(error instanceof HangarError) || error.code === 'internal') throw error;
    if (!error.message) throw new SimFailure(`${command.type} was refused without a reason`);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A person at a terminal changes a file; while a suspend is going on nobody gets in. */
function exec(world: SimWorld): void {
  const s = world.session();
  if (s.phase.state !== 'IDLE' && s.phase.state !== 'ACTIVE' && s.phase.state !== 'INTERRUPTED')
    return;
  const computer = world.computers.get(heldSandbox(s)?.id ?? '');
  if (!computer?.isAlive) return;
  makeUnit(world, computer, true);
  world.lastExecAt = world.now();
}

/** An event of long ago comes once more. */
function redeliver(world: SimWorld, random: Random): void {
  const record = world.log.all[Math.floor(random() * world.log.all.length)];
  if (!record) return;
  const others: Consumer[] = ['sandboxes', 'checkpoints', 'runs'];
  const consumers: Consumer[] = record.aggregate === 'session' ? others : ['sessions'];
  for (const consumer of consumers) {
    const position = world.positions.get(`${consumer} ${record.stream}`) ?? 0;
    if (record.version <= position) world.handle(consumer, record);
  }
}

/** (g) What an older sandbox, run or capture says changes nothing [M5]. */
function stale(world: SimWorld, random: Random): void {
  const s = world.session();
  const now = world.now();
  const epoch = Math.floor(random() * s.attached_epoch);
  if (epoch < 1) return;
  const sandbox_id = `sbx-0000abcd-${epoch}`;
  const turn = s.turns.find((t) => !isOpenTurn(world, t.number));
  const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
  const terminal_id = sessionPartId('trm', SESSION_ID, s.talk_number);
  const commands: SessionCommand[] = [
    ...(s.talk
      ? []
      : [{ type: 'FinishTalk', now, data: { terminal_id, reason: 'stale' } } as const]),
    { type: 'LoseSandbox', now, data: { sandbox_id, reason: 'stale' } },
    { type: 'FinishRelease', now, data: { sandbox_id, cause: 'stale' } },
    { type: 'FailStart', now, data: { sandbox_id, phase: 'cloning', reason: 'stale' } },
    {
      type: 'TryOlderCheckpoint',
      now,
      data: { checkpoint_id: s.checkpoints.at(-1)?.id ?? '', epoch, error: 'stale' },
    },
    ...(turn
      ? ([
          {
            type: 'FinishTurn',
            now,
            data: {
              run_id: turn.run_id,
              turn: turn.number,
              outcome: 'succeeded',
              summary: '',
              usage,
              conversation: 'native',
            },
          },
          {
            type: 'LoseTurn',
            now,
            data: {
              run_id: turn.run_id,
              turn: turn.number,
              reason: 'stale',
              sandbox_gone: true,
              is_silent: false,
            },
          },
          {
            type: 'RaiseAsk',
            now,
            data: {
              run_id: turn.run_id,
              turn: turn.number,
              ask: { id: 'stale', kind: 'question', questions: [] },
            },
          },
          ...s.queue.flatMap(({ message_id }): SessionCommand[] => {
            const data = { run_id: turn.run_id, turn: turn.number, message_id };
            return [
              { type: 'NoteDelivery', now, data },
              { type: 'ReturnMessage', now, data },
            ];
          }),
          ...s.attention.filter(isAsk).map(({ asked }): SessionCommand => ({
            type: 'CloseAsk',
            now,
            data: { run_id: turn.run_id, turn: turn.number, ask_id: asked.id },
          })),
        ] satisfies SessionCommand[])
      : []),
  ];
  for (const command of commands) {
    const events = world.execute('session', SESSION_ID, command);
    if (events.length) throw new SimFailure(`(g) a stale ${command.type} gave ${events[0]?.type}`);
  }
  const late = world.execute('session', SESSION_ID, {
    type: 'RecordCheckpoint',
    now,
    data: {
      checkpoint_id: `ckp-0000abcd-${s.checkpoint_number + 7}`,
      epoch,
      reason: 'interval',
      turn: 0,
      complete: true,
      parts: [],
      skipped: [],
      warnings: [],
      taken_at: now,
    },
  });
  if (late.some((e) => e.type !== 'CheckpointsDropped'))
    throw new SimFailure('(g) a stale checkpoint was recorded');
}
