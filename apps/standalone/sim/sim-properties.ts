import { deriveId, type SessionEvent, type SessionEvents } from '@hangar/contracts';
import { decide } from '../../../libs/sessions/src/session.decider.ts';
import { waitsOnPerson } from '../../../libs/sessions/src/session.timers.ts';
import {
  heldSandbox,
  isAsk,
  isUnsaved,
  partNumber,
  turnOf,
  type AskCard,
  type Session,
} from '../../../libs/sessions/src/session.ts';
import type { Recorded } from './sim-log.ts';
import { conversationOf } from './sim-run.ts';
import { SESSION_ID, SimFailure, type SimWorld } from './sim-world.ts';

export const sessionStory = (world: SimWorld): SessionEvent[] =>
  (world.log.streams.get(`session/${SESSION_ID}`) ?? []).map((r) => r.event as SessionEvent);

/** After every append. */
export function checkAlways(records: Recorded[], world: SimWorld): void {
  const ofSession = records.filter((r) => r.aggregate === 'session');
  if (ofSession.length === 0) return;
  const s = world.session();
  if (!s.state_reason.trim()) throw new SimFailure(`(f) ${s.phase.state} without a reason`);
  checkCards(s);
  checkUsageLimit(s);
  if (s.talk && s.phase.state !== 'IDLE')
    throw new SimFailure(`(b) ${s.talk.terminal_id} is talked in, in ${s.phase.state}`);
  for (const { event, version } of ofSession) {
    if (event.type === 'TurnRequested') checkHarness(world, event.data);
    if (event.type === 'TurnRequested' && s.talk_unsaved)
      throw new SimFailure(`(c) turn ${event.data.turn} before what was said is saved`);
    if (event.type === 'TurnFinished') noteLost(world, event.data);
    if (event.type === 'CheckpointRecorded') checkEpoch(world, s, event.data.checkpoint_id);
    if (event.type === 'CheckpointsDropped' && event.data.reason === 'late')
      checkNotWanted(world, s, event.data.checkpoint_ids);
    if (event.type === 'SessionResumed') checkTruth(world, version, event.data.checkpoint_id);
    else if (event.type === 'SessionStarted') checkTruth(world, version, '');
  }
}

/** (i) A turn runs the session's harness, where that is installed, on its own conversation [H3]. */
function checkHarness(world: SimWorld, turn: SessionEvents['TurnRequested']): void {
  const { harness, place, resume, harness_session } = turn;
  const story = sessionStory(world);
  const chosen = story.findLast((e) => e.type === 'HarnessChanged' || e.type === 'SessionCreated');
  const asked = story.findLast(
    (e) => e.type === 'SandboxRequested' && e.data.sandbox_id === place.sandbox_id,
  ) as { data: SessionEvents['SandboxRequested'] } | undefined;
  if (chosen?.data.harness !== harness || asked?.data.harness !== harness)
    throw new SimFailure(
      `(i) turn ${turn.turn} runs ${harness} in a sandbox of ${asked?.data.harness}`,
    );
  if (resume && harness_session !== conversationOf(harness))
    throw new SimFailure(`(i) turn ${turn.turn} of ${harness} resumes ${harness_session}`);
}

function noteLost(world: SimWorld, { run_id, turn }: { run_id: string; turn: number }): void {
  const place = world.log.state('run', run_id)?.request.place;
  if (!world.computers.get(place?.sandbox_id ?? '')?.isAlive) world.lostTurns.add(turn);
}

/** (c) What came late but holds work that is nowhere else is not thrown away while it still fits. */
function checkNotWanted(world: SimWorld, s: Session, checkpointIds: string[]): void {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') return;
  const saved = new Set(s.checkpoints.flatMap((c) => world.contents.get(c.id)?.units ?? []));
  for (const id of checkpointIds) {
    const request = world.log.state('checkpoint', id)?.request;
    // While the sandbox lives its tree is the truth, and the next checkpoint has it.
    const isAlive = world.computers.get(request?.place.sandbox_id ?? '')?.isAlive ?? false;
    if (isAlive || request?.epoch !== s.attached_epoch) continue;
    if (partNumber(id) < s.checkpoint_settled) continue;
    const isElsewhere = world.contents.get(id)?.units.every((u) => saved.has(u)) ?? true;
    if (!isElsewhere) throw new SimFailure(`(c) ${id} holds work and was thrown away`);
  }
}

/** (g) A checkpoint of an older sandbox is not the session's: it went on without it [M5]. */
function checkEpoch(world: SimWorld, s: Session, checkpointId: string): void {
  const epoch = world.log.state('checkpoint', checkpointId)?.request?.epoch;
  const isLater = s.phase.state === 'RESUMING' || s.phase.state === 'STARTING';
  if (epoch !== s.attached_epoch || (isLater && heldSandbox(s)?.place))
    throw new SimFailure(`(g) ${checkpointId} of epoch ${epoch} recorded in ${s.attached_epoch}`);
}

/** (j) A usage limit is waited for with a card that says so, and with the turn's message [M7]. */
function checkUsageLimit(s: Session): void {
  const cards = s.attention.filter((c) => c.kind === 'limit' && !isUnsaved(c));
  if (cards.length !== (s.limited ? 1 : 0))
    throw new SimFailure(`(j) ${cards.length} cards about the usage limit of ${s.limited?.turn}`);
  if (s.limited && !s.queue.some((m) => m.mode === 'retry'))
    throw new SimFailure(`(j) turn ${s.limited.turn} waits for its limit without its message`);
  if (s.limited && s.phase.state === 'ACTIVE' && s.phase.turn > s.limited.turn)
    throw new SimFailure(`(j) turn ${s.phase.turn} runs into the usage limit`);
}

/** (f) A card is open only while what it speaks of is so. */
function checkCards(s: Session): void {
  const { state } = s.phase;
  const ids = s.attention.map((c) => c.id);
  if (new Set(ids).size !== ids.length) throw new SimFailure('(f) a card is open twice');
  const has = (kind: string): boolean => s.attention.some((c) => c.kind === kind);
  const isUndecided =
    state === 'INTERRUPTED' ||
    (s.phase.state === 'SUSPENDING' && s.phase.interrupted_turn !== null);
  if (isUndecided !== has('interrupted'))
    throw new SimFailure(`(f) ${state}: the card "interrupted" is ${has('interrupted')}`);
  if (s.attention.filter(isUnsaved).length > 1)
    throw new SimFailure('(f) two cards say that work cannot be saved');
  if (s.attention.some(isUnsaved) && !heldSandbox(s))
    throw new SimFailure('(f) a card about no sandbox');
  if ((state === 'ARCHIVED' || state === 'DELETED') && ids.length)
    throw new SimFailure(`(f) ${state} with an open card`);
  for (const card of s.attention.filter(isAsk)) checkAnswerable(s, card);
}

/** [A2] A card waits only where somebody waits for its answer, and where it can be given. */
function checkAnswerable(s: Session, { id, turn, asked }: AskCard): void {
  const { phase } = s;
  const isWaiting = phase.state === 'ACTIVE' && phase.turn === turn && phase.step !== 'cancelling';
  const isDeferred = s.turns.at(-1)?.number === turn && turnOf(s, turn)?.outcome === 'deferred';
  if (!isWaiting && !isDeferred)
    throw new SimFailure(`(h) ${id} of turn ${turn} waits in ${phase.state} for nobody`);
  const answers = asked.questions.map((q) => ({ question_id: q.id, text: 'x' }));
  const answer = { verdict: 'allow', answers, reason: '' };
  const data = { card_id: id, answer, answered_by: 'ada' };
  const now = '2030-01-01T00:00:00.000Z';
  if (!decide(s, { type: 'AnswerCard', now, data }).some((e) => e.type === 'CardAnswered'))
    throw new SimFailure(`(h) ${id} cannot be answered in ${phase.state}`);
}

/** [R2] Work that was there and is not there after a resume was spoken of. */
function checkTruth(world: SimWorld, version: number, checkpointId: string): void {
  const before = sessionStory(world).slice(0, version);
  const attached = before.flatMap((e, i) => (e.type === 'SandboxAttached' ? [i] : []));
  const previous = attached.at(-2);
  if (previous === undefined) return;
  const told = before.slice(previous);
  const event = told.find((e) => e.type === 'SandboxAttached');
  const old = world.computers.get(event?.data.place.sandbox_id ?? '');
  const restored = new Set(world.contents.get(checkpointId)?.units ?? []);
  const missing = [...(old?.tree ?? [])].filter((u) => !restored.has(u) && !old?.stray.has(u));
  if (missing.length === 0) return;
  const now = before.at(-1);
  const isTurnLost = missing.some((u) => isFinished(before, world.turnOfUnit.get(u)));
  if (isTurnLost && now?.type === 'SessionResumed' && !isLossTold(now.data))
    throw new SimFailure(`(truth) ${checkpointId} is said to hold a turn that it does not hold`);
  // What the resume before this one told of is about losses before that.
  const up = told
    .slice(0, -1)
    .findIndex((e) => e.type === 'SessionResumed' || e.type === 'SessionStarted');
  const isTold = told
    .slice(up + 1)
    .some(
      (e) =>
        (e.type === 'AttentionRaised' &&
          e.data.kind === 'lost_state' &&
          !e.data.text.startsWith('resumed from')) ||
        e.type === 'SessionInterrupted' ||
        (e.type === 'SuspendRequested' && e.data.force) ||
        (e.type === 'SessionResumed' && isLossTold(e.data)),
    );
  if (!isTold) throw new SimFailure(`(truth) lost without a word: ${missing.join(' ')}`);
}

const isFinished = (story: SessionEvent[], turn: number | undefined): boolean =>
  story.some((e) => e.type === 'TurnFinished' && e.data.turn === turn);

const isLossTold = (d: { turns_older: number; continuity: { losses: unknown[] } }): boolean =>
  d.turns_older > 0 || d.continuity.losses.length > 0;

/** Once everything has come to rest. */
export function checkAtRest(world: SimWorld): void {
  const s = world.session();
  const story = sessionStory(world);
  checkRestState(s);
  checkLimit(s, story);
  checkMessages(world, s, story);
  checkAnswers(world, s, story);
  checkTurnOutcomes(story);
  checkComputers(world, s);
  for (const stream of world.log.streams.keys()) {
    const replayed = JSON.stringify(world.log.replay(stream));
    if (replayed !== JSON.stringify(world.log.live(stream)))
      throw new SimFailure(`(e) the log of ${stream} does not give its live state`);
  }
}

/** A person wants it up, or has been asked what to do about work that cannot be saved. */
export const isKept = (s: Session): boolean => s.idle_minutes === 0 || s.attention.some(isUnsaved);

/** Kept up by a person, a turn may wait on a person in its sandbox for as long as it takes. */
export const isWaitingUp = (s: Session): boolean => s.idle_minutes === 0 && waitsOnPerson(s);

function checkRestState(s: Session): void {
  const { state } = s.phase;
  if (isWaitingUp(s)) return;
  if (['STARTING', 'RESUMING', 'ACTIVE', 'SUSPENDING'].includes(state))
    throw new SimFailure(`(a) stuck in ${state}: ${s.state_reason}`);
  if ((state === 'IDLE' || (state === 'INTERRUPTED' && heldSandbox(s))) && !isKept(s))
    throw new SimFailure(`(a) ${state} for ever, with a sandbox that nobody needs`);
  if (s.checkpointing) throw new SimFailure(`(a) ${s.checkpointing.id} is waited for for ever`);
  if (s.talk) throw new SimFailure(`(a) ${s.talk.terminal_id} is talked in for ever`);
  if (s.talk_unsaved && state === 'IDLE') throw new SimFailure('(c) a talk that nobody saves');
  if (s.queue.length && state !== 'INTERRUPTED' && state !== 'FAILED')
    throw new SimFailure(`(a) messages wait in ${state}`);
}

/** (f) The card that keeps a sandbox up goes when its work is saved whole after all. */
function checkLimit(s: Session, story: SessionEvent[]): void {
  if (!s.attention.some(isUnsaved)) return;
  const isComplete = (id: string): boolean => s.checkpoints.some((c) => c.id === id && c.complete);
  const last = story.findLast(
    (e) =>
      e.type === 'CheckpointRecorded' ||
      e.type === 'CheckpointStillGood' ||
      e.type === 'CheckpointMissed',
  );
  if (last && last.type !== 'CheckpointMissed' && isComplete(last.data.checkpoint_id))
    throw new SimFailure(`(f) a card says that ${last.data.checkpoint_id} did not save it all`);
}

/** (b) Each accepted message has exactly one fate, and one that was taken back was never given. */
function checkMessages(world: SimWorld, s: Session, story: SessionEvent[]): void {
  for (const e of story) {
    if (e.type !== 'MessageQueued') continue;
    const id = e.data.message_id;
    const queued = story.filter((x) => x.type === 'MessageQueued' && x.data.message_id === id);
    if (queued.length > 1) throw new SimFailure(`(b) ${id} was accepted twice`);
    const fates = story.filter(
      (x) =>
        (x.type === 'MessageDelivered' ||
          x.type === 'MessageTakenBack' ||
          x.type === 'MessageFailed') &&
        x.data.message_id === id,
    );
    const waits = s.queue.some((m) => m.message_id === id) ? 1 : 0;
    if (fates.length + waits !== 1)
      throw new SimFailure(`(b) ${id} has the fates ${fates.map((f) => f.type).join(' ')}`);
    const turns = story.filter((x) => x.type === 'TurnRequested' && x.data.message_id === id);
    if (turns.length > 1) throw new SimFailure(`(b) ${id} became two turns`);
    const starts = turns.reduce(
      (n, t) => n + (t.type === 'TurnRequested' ? (world.starts.get(t.data.run_id) ?? 0) : 0),
      0,
    );
    const gifts = world.gifts.filter((g) => g.message_id === id);
    // An agent that went away with its sandbox has nothing any more.
    const had = gifts.filter((g) => !world.lostTurns.has(g.turn)).length + starts;
    if (had > 1) throw new SimFailure(`(b) ${id} was given to the agent twice`);
    if (fates[0]?.type === 'MessageTakenBack' && (turns.length || had))
      throw new SimFailure(`(b) ${id} was taken back and given to the agent`);
    if (fates[0]?.type === 'MessageDelivered' && gifts.length + starts === 0)
      throw new SimFailure(`(b) ${id} is said to be delivered and no run had it`);
    const [asked] = story.filter((x) => x.type === 'TakeBackRequested' && x.data.message_id === id);
    if (asked && turns.length) throw new SimFailure(`(b) ${id} was wanted back and became a turn`);
    if (fates[0]?.type === 'MessageTakenBack' && !world.wantedBack.has(id))
      throw new SimFailure(`(b) ${id} was taken back and nobody wanted that`);
    if (waits && had) throw new SimFailure(`(b) ${id} waits, and the agent has it`);
  }
}

/** [A2] A card that was raised is open, or is closed once with a reason that is so. */
function checkClosed(
  world: SimWorld,
  story: SessionEvent[],
  { card_id, asked, turn }: SessionEvents['AttentionRaised'],
): void {
  const ends = story.flatMap((e) =>
    e.type === 'AttentionCleared' && e.data.card_id === card_id ? [e.data.reason] : [],
  );
  if (ends.length > 1) throw new SimFailure(`(h) ${card_id} was closed twice`);
  const isGivenUp = world.givenUp.has(`run-0000abcd-${turn} ${asked?.id}`);
  if (ends[0] === 'the agent waits for it no more' && !isGivenUp)
    throw new SimFailure(`(h) ${card_id} was closed, and the agent waits for it`);
}

/** [A2] An answer reaches the agent once, unless what waited for it is over. */
function checkAnswers(world: SimWorld, s: Session, story: SessionEvent[]): void {
  const seen = new Set<string>();
  for (const e of story) {
    if (e.type === 'AttentionRaised' && e.data.asked) checkClosed(world, story, e.data);
    if (e.type !== 'CardAnswered') continue;
    const { card_id, run_id, ask_id, turn } = e.data;
    if (seen.has(card_id)) throw new SimFailure(`(h) ${card_id} was answered twice`);
    seen.add(card_id);
    const key = `${run_id} ${ask_id}`;
    const message = deriveId('msg', s.id, 'answer', card_id);
    const passed = story.filter((x) => x.type === 'TurnRequested' && x.data.message_id === message);
    const outcome = turnOf(s, turn)?.outcome ?? null;
    const times = world.taken.filter((t) => t === key).length + passed.length;
    if (times > 1) throw new SimFailure(`(h) the answer to ${card_id} reached the agent twice`);
    const isCancelled = story.some((x) => x.type === 'TurnCancelRequested' && x.data.turn === turn);
    if (isCancelled && passed.length)
      throw new SimFailure(`(h) turn ${turn} was cancelled, and ${card_id} authorises the next`);
    // It has its answer, and still waits for another one.
    if (times === 1 || (outcome === null && isWaitingUp(s))) continue;
    const isOnItsWay = story.some(
      (x) => x.type === 'MessageQueued' && x.data.message_id === message,
    );
    const isOver = outcome !== 'deferred' && outcome !== 'succeeded' && outcome !== null;
    if (!isOnItsWay && !isOver && !isCancelled && !world.givenUp.has(key))
      throw new SimFailure(`(h) the answer to ${card_id} was lost: turn ${turn} ${outcome}`);
  }
}

/** (d) One outcome for each finished turn; a miss may be followed by the same one, late. */
function checkTurnOutcomes(story: SessionEvent[]): void {
  let open: number | null = null;
  const missed = new Set<string>();
  for (const e of story) {
    if (e.type === 'TurnFinished') {
      if (open !== null) throw new SimFailure(`(d) turn ${open} has no checkpoint outcome`);
      open = e.data.turn;
    }
    const isOutcome =
      e.type === 'CheckpointRecorded' ||
      e.type === 'CheckpointStillGood' ||
      e.type === 'CheckpointMissed';
    if (!isOutcome || e.data.reason !== 'turn') continue;
    if (e.type === 'CheckpointRecorded' && missed.has(e.data.checkpoint_id)) continue;
    if (e.type === 'CheckpointMissed') missed.add(e.data.checkpoint_id);
    if (open === null) throw new SimFailure(`(d) an outcome without a finished turn: ${e.type}`);
    open = null;
  }
  if (open !== null) throw new SimFailure(`(d) turn ${open} has no checkpoint outcome`);
}

/** No computer outlives its use, unless its destroy hangs outside. */
function checkComputers(world: SimWorld, s: Session): void {
  const held = heldSandbox(s)?.id;
  for (const computer of world.computers.values()) {
    const isGoing = world.tasks.has(`destroy:${computer.id}`);
    if (computer.isAlive && computer.id !== held && !isGoing)
      throw new SimFailure(`${computer.id} is alive and nobody's`);
    for (const [id, talked] of computer.talks)
      if (talked.isRunning && computer.isAlive && !isGoing)
        throw new SimFailure(`(b) the agent in ${id} is at work, and nobody told it to stop`);
    for (const [id, p] of computer.processes)
      if (p.isRunning && computer.isAlive && !isGoing && !isWaitingUp(s)) {
        const run = world.log.state('run', id);
        if (!world.tasks.has(`run:${id}`) || run?.cancelling === null)
          throw new SimFailure(`(b) ${id} is at work and nobody told it to stop`);
      }
  }
}
