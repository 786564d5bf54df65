import { deriveId, sessionPartId, type AnsweredAsk, type SessionEvent } from '@hangar/contracts';
import { answerOfMessage } from '../answer-text.ts';
import { handoffText } from '../handoff.ts';
import { evolve } from '../session.evolve.ts';
import {
  heldSandbox,
  isAsk,
  isUnsaved,
  turnOf,
  type QueuedMessage,
  type SandboxHold,
  type Session,
  type SessionCheckpoint,
} from '../session.ts';

/** A step looks at the session as the steps before it left it, and says what happens next. */
export type Step = (s: Session) => SessionEvent[];

/** Runs steps one after the other, each on the state that the ones before it make. */
export function inOrder(s: Session, ...steps: Step[]): SessionEvent[] {
  const events: SessionEvent[] = [];
  let state = s;
  for (const step of steps) {
    const next = step(state);
    for (const event of next) state = evolve(state, event) as Session;
    events.push(...next);
  }
  return events;
}

export const always =
  (...events: SessionEvent[]): Step =>
  () =>
    events;

export const newestComplete = (s: Session): SessionCheckpoint | undefined =>
  s.checkpoints.findLast((c) => c.complete);

export const newest = (s: Session): SessionCheckpoint | undefined => s.checkpoints.at(-1);

/** Asks for a fresh sandbox; what it is for follows from whether there is anything to restore. */
export const requestSandbox =
  (now: string): Step =>
  (s) => {
    const resume = s.checkpoints.length > 0 || s.turns.length > 0;
    const epoch = s.epoch + 1;
    return [
      {
        type: 'SandboxRequested',
        data: {
          session_id: s.id,
          sandbox_id: sessionPartId('sbx', s.id, epoch),
          epoch,
          owner: s.owner,
          environment: s.environment,
          harness: s.harness,
          ...(s.repo === null ? {} : { repo: s.repo }),
          ...(s.base_branch === null ? {} : { base_branch: s.base_branch }),
          branch: s.branch,
          cwd: s.cwd,
          purpose: resume ? 'resume' : 'start',
          ...(s.checkpoints.length > 0 ? { has_checkpoint: true } : {}),
          requested_at: now,
        },
      },
    ];
  };

export const resume =
  (reason: string, now: string): Step =>
  (s) =>
    inOrder(s, always({ type: 'ResumeRequested', data: { reason } }), requestSandbox(now));

/** With a sandbox attached and nothing in the way: the next message's turn, or rest. */
export const turnOrIdle =
  (reason: string, now: string): Step =>
  (s) => {
    const message = s.queue[0];
    // A checkpoint being taken sees a still tree; the turn starts when it is recorded.
    if (message && !s.checkpointing && !s.limited && !s.talk && hasItsHarness(s))
      return inOrder(s, closeDeferred(message, now), (after) => [
        requestTurn(after, message, now, answeredBy(s, message)),
      ]);
    const isWanted = message && !s.checkpointing && !s.limited && !s.talk && !isLimited(s);
    if (isWanted && !hasItsHarness(s)) return suspend(s, forHarness(s.harness), now);
    return [{ type: 'SessionIdled', data: { since: now, reason: `${reason}${whatWaits(s)}` } }];
  };

/** The answer to a sandbox that asks whether it may go. */
export const keepSandbox =
  (reason: string): Step =>
  (s) => {
    const hold = heldSandbox(s);
    if (!hold) return [];
    return [
      { type: 'SandboxKeepRequested', data: { session_id: s.id, sandbox_id: hold.id, reason } },
    ];
  };

/** Saves everything first; the sandbox goes only after a complete checkpoint [C2] [X3]. */
export function suspend(
  s: Session,
  options: { reason: string; automatic: boolean; force: boolean },
  now: string,
): SessionEvent[] {
  return inOrder(
    s,
    always({ type: 'SuspendRequested', data: options }),
    checkpointDue('suspend', now),
  );
}

/** A suspend that was refused leaves a session with the sandbox of the harness before [H3]. */
const hasItsHarness = (s: Session): boolean => heldSandbox(s)?.harness === s.harness;

function whatWaits(s: Session): string {
  if (s.limited) return `; it goes on when the usage limit ends (${s.limited.until})`;
  if (s.talk) return '; somebody talks with the agent';
  if (hasItsHarness(s)) return '';
  const until = isLimited(s) ? 'a complete checkpoint, or suspend --force' : 'its checkpoint';
  return `; its sandbox has no ${s.harness}: a turn gets another sandbox after ${until}`;
}

/** A harness comes with the sandbox [H3]. */
export const forHarness = (
  harness: string,
): { reason: string; automatic: boolean; force: boolean } => ({
  reason: `the next turn is with ${harness}`,
  automatic: false,
  force: false,
});

/** What the turn before ended on is not waited for any more; an agent that still needs it asks again. */
const closeDeferred =
  (message: QueuedMessage, now: string): Step =>
  (s) => {
    const reason =
      message.mode === 'answer'
        ? 'the agent goes on with another answer, and asks again if it has to'
        : 'a message came in the place of an answer';
    return s.attention.filter(isAsk).map((card) => ({
      type: 'AttentionCleared',
      data: { card_id: card.id, reason, cleared_at: now },
    }));
  };

/** A message in the place of an answer is the answer [A2]. */
function answeredBy(s: Session, message: QueuedMessage): AnsweredAsk | null {
  if (message.mode === 'retry') return s.turns.at(-1)?.answered ?? null;
  const given = s.given.find(({ message_id }) => message_id === message.message_id);
  if (given) return { ask: given.ask, answer: given.answer };
  const asked = s.attention.find(isAsk)?.asked ?? s.given[0]?.ask;
  return asked ? { ask: asked, answer: answerOfMessage(asked, message.text) } : null;
}

function requestTurn(
  s: Session,
  message: QueuedMessage,
  now: string,
  answered: AnsweredAsk | null,
): SessionEvent {
  const hold = heldSandbox(s);
  if (!hold?.place) throw new Error('a turn needs an attached sandbox');
  const turn = s.turns.length + 1;
  return {
    type: 'TurnRequested',
    data: {
      session_id: s.id,
      turn,
      run_id: sessionPartId('run', s.id, turn),
      epoch: hold.epoch,
      owner: s.owner,
      environment: s.environment,
      place: hold.place,
      harness: s.harness,
      ...(s.model === null ? {} : { model: s.model }),
      ...(s.harness_session === null ? {} : { harness_session: s.harness_session }),
      resume: s.harness_session !== null,
      message_id: message.message_id,
      message: message.text,
      notes: s.notes.join('\n'),
      handoff: handoffText(s),
      turn_minutes: s.turn_minutes,
      requested_at: now,
      permissions: s.permissions,
      ...(s.hand_off ? { hand_off: true } : {}),
      ...(answered ? { answered } : {}),
    },
  };
}

/** A checkpoint in mid-turn does not hold that turn's end, and must not be taken for it [R1]. */
const turnsEnded = (s: Session): number =>
  s.phase.state === 'ACTIVE' && s.phase.step !== 'ended' ? s.turns.length - 1 : s.turns.length;

/** One checkpoint at a time: while one is being taken, whoever wants another asks again after it. */
export const checkpointDue =
  (reason: 'turn' | 'talk' | 'suspend' | 'manual' | 'interval', now: string): Step =>
  (s) => {
    const hold = heldSandbox(s);
    if (!hold?.place || s.checkpointing) return [];
    const good = newestComplete(s);
    const unless =
      good?.fingerprint && good.id === newest(s)?.id
        ? { unless_fingerprint: good.fingerprint, unless_checkpoint_id: good.id }
        : {};
    return [
      {
        type: 'CheckpointDue',
        data: {
          session_id: s.id,
          checkpoint_id: sessionPartId('ckp', s.id, s.checkpoint_number + 1),
          epoch: hold.epoch,
          reason,
          turn: turnsEnded(s),
          place: hold.place,
          harness: s.harness,
          ...(s.harness_session === null ? {} : { harness_session: s.harness_session }),
          ...(s.base_branch === null ? {} : { base_branch: s.base_branch }),
          ...unless,
          due_at: now,
        },
      },
    ];
  };

export interface ReleaseOptions {
  cause: string;
  now: string;
  /** The checkpoint that makes it safe; without one nothing is left in it to save, or a person said so. */
  checkpointId?: string;
}

export const release =
  (
    hold: Pick<SandboxHold, 'id' | 'epoch'> | null,
    { cause, now, checkpointId }: ReleaseOptions,
  ): Step =>
  (s) =>
    hold
      ? [
          {
            type: 'SandboxReleaseRequested',
            data: {
              session_id: s.id,
              sandbox_id: hold.id,
              epoch: hold.epoch,
              cause,
              force: checkpointId === undefined,
              ...(checkpointId === undefined ? {} : { checkpoint_id: checkpointId }),
              requested_at: now,
            },
          },
        ]
      : [];

/** A start that came to nothing; `open` or the next message tries again [S4]. */
export const fail =
  (phase: string, reason: string, now: string): Step =>
  (s) =>
    inOrder(
      s,
      release(heldSandbox(s), { cause: 'failed', now }),
      always({ type: 'SessionFailed', data: { phase, reason, failed_at: now } }),
    );

/** A card's id follows from what raised it, so the same cause raises it once. */
export const raise =
  (kind: string, about: string, text: string, choices: string[], now: string): Step =>
  (s) => {
    const card_id = deriveId('card', s.id, kind, about);
    if (s.attention.some((c) => c.id === card_id)) return [];
    return [{ type: 'AttentionRaised', data: { card_id, kind, text, choices, since: now } }];
  };

export const clearCards =
  (kind: string, reason: string, about?: string): Step =>
  (s) =>
    s.attention
      .filter((c) => c.kind === kind)
      .filter((c) => about === undefined || c.id === deriveId('card', s.id, kind, about))
      .map((c) => ({ type: 'AttentionCleared', data: { card_id: c.id, reason } }));

/** Something stands in the way of saving all of the work; a person was told. */
export const isLimited = (s: Session): boolean => s.attention.some(isUnsaved);

export const clearUnsaved =
  (reason: string): Step =>
  (s) =>
    s.attention
      .filter(isUnsaved)
      .map((c) => ({ type: 'AttentionCleared', data: { card_id: c.id, reason } }));

/** How old the work is that is safe, for people [S3]. */
export function safeUpTo(s: Session): string {
  const c = newest(s);
  return c
    ? `work up to checkpoint ${c.id} of ${c.taken_at} is safe` +
        (c.complete ? '' : `, but for ${c.skipped.length} paths that it leaves out`)
    : 'no checkpoint was taken yet, so no work is safe';
}

export const interrupted =
  (turn: number, reason: string, sandboxGone: boolean, now: string): Step =>
  (s) => {
    const c = newest(s);
    const text = `turn ${turn} was interrupted: ${reason}; ${safeUpTo(s)}`;
    return inOrder(
      s,
      always({
        type: 'SessionInterrupted',
        data: {
          turn,
          reason: text,
          ...(c ? { checkpoint_id: c.id, checkpoint_taken_at: c.taken_at } : {}),
          interrupted_at: now,
          sandbox_gone: sandboxGone,
        },
      }),
      raise('interrupted', String(turn), text, ['retry', 'continue'], now),
      sandboxGone ? clearUnsaved('the sandbox is gone') : () => [],
    );
  };

/** Why a turn was cut, for the person who decides on it. */
export const whyCut = (s: Session, turn: number): string => turnOf(s, turn)?.error ?? 'it was cut';
