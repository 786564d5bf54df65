import { HangarError, type SessionEvent } from '@hangar/contracts';
import type { CommandOf } from '../session.commands.ts';
import { evolve } from '../session.evolve.ts';
import { heldSandbox, type Phase, type Session, type SessionState } from '../session.ts';
import { askToEnd, cancelTurn, cutTalk, cutTurn, missPending } from './cut.ts';
import { always, inOrder, release, requestSandbox, resume, type Step } from './steps.ts';

export function createSession(
  s: SessionState,
  { data, now }: CommandOf<'CreateSession'>,
): SessionEvent[] {
  if (s) return []; // The same creation again: already recorded.
  const { message, permissions, ...fields } = data;
  const created: SessionEvent = { type: 'SessionCreated', data: { ...fields, created_at: now } };
  const first: SessionEvent[] = message
    ? [{ type: 'MessageQueued', data: { ...message, mode: 'auto', queued_at: now } }]
    : [];
  const blank = evolve(null, created) as Session;
  const rules: SessionEvent[] = permissions
    ? [{ type: 'PermissionsChanged', data: permissions }]
    : [];
  return [created, ...inOrder(blank, always(...rules, ...first), requestSandbox(now))];
}

/** Opening what is open is quiet; opening what is going away waits for it [R6]. */
export function openSession(s: Session, { now }: CommandOf<'OpenSession'>): SessionEvent[] {
  switch (s.phase.state) {
    case 'STARTING':
    case 'RESUMING':
    case 'IDLE':
    case 'ACTIVE':
      return [];
    case 'SUSPENDED':
    case 'FAILED':
      return resume('opened', now)(s);
    case 'SUSPENDING':
      throw new HangarError('conflict', 'the session is being suspended; its work is being saved', {
        hint: 'open it again in a moment, or send a message: that waits and resumes it',
      });
    case 'INTERRUPTED':
      throw new HangarError('conflict', s.state_reason, {
        hint: 'decide first: retry (the same message again) or continue (without it)',
      });
    case 'ARCHIVED':
    case 'DELETED':
      throw ended(s);
  }
}

export function ended(s: Session): HangarError {
  return s.phase.state === 'DELETED'
    ? new HangarError('not_found', `session ${s.id} was deleted`)
    : new HangarError('conflict', `session ${s.name} is archived: its checkpoints were dropped`, {
        hint: 'its turns and audit trail can still be read; start a new session to go on',
      });
}

export function keepSession(s: Session, { data }: CommandOf<'KeepSession'>): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (s.idle_minutes === data.idle_minutes) return [];
  return [{ type: 'IdleMinutesChanged', data: { idle_minutes: data.idle_minutes } }];
}

/** From the next turn on: a run keeps the rules it was started with [A3]. */
export function changePermissions(
  s: Session,
  { data }: CommandOf<'ChangePermissions'>,
): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED' || s.phase.state === 'DELETED') throw ended(s);
  if (JSON.stringify(s.permissions) === JSON.stringify(data)) return [];
  return [{ type: 'PermissionsChanged', data }];
}

/** Name and title only: branch, paths and ids stay [S7]. */
export function renameSession(s: Session, { data }: CommandOf<'RenameSession'>): SessionEvent[] {
  if (s.phase.state === 'DELETED') throw ended(s);
  if (s.name === data.name && s.title === data.title) return [];
  return [{ type: 'SessionRenamed', data }];
}

/** Also the one that is being taken: what is stored after this has to go as well [S6]. */
const dropAll =
  (reason: string, pending: Session['checkpointing']): Step =>
  (s) => {
    const ids = s.checkpoints.map((c) => c.id);
    if (pending) ids.push(pending.id);
    const data = { session_id: s.id, checkpoint_ids: ids, reason };
    return ids.length ? [{ type: 'CheckpointsDropped', data }] : [];
  };

/** A turn at work is never killed by an ending; the person stops it first. */
export function stillActive(phase: Extract<Phase, { state: 'ACTIVE' }>, verb: string): HangarError {
  return phase.step === 'ended'
    ? new HangarError('conflict', `turn ${phase.turn} has ended, and its work is being saved`, {
        hint: `${verb} in a moment`,
      })
    : new HangarError('conflict', `turn ${phase.turn} is at work; it goes on undisturbed`, {
        hint: `interrupt it first, then ${verb}`,
      });
}

/** The agent is at work in a terminal; it goes on undisturbed. */
export function refuseWhileTalking(s: Session, verb: string): void {
  if (!s.talk) return;
  throw new HangarError(
    'conflict',
    `somebody talks with the agent in terminal ${s.talk.terminal_id}`,
    { hint: `end that first (hangar session terminals --close), then ${verb}` },
  );
}

function refuseWhileBusy(s: Session, verb: string): void {
  refuseWhileTalking(s, verb);
  if (s.phase.state === 'ACTIVE') throw stillActive(s.phase, verb);
  if (s.phase.state === 'SUSPENDING')
    throw new HangarError('conflict', 'the session is being suspended; nothing was changed', {
      hint: `${verb} it when it is suspended`,
    });
}

/** Nothing is left open: the turn, its checkpoint, each message and each card gets its end. */
const windUp = (reason: string, now: string): Step[] => [
  (s) => {
    if (s.phase.state !== 'ACTIVE' || s.phase.step === 'ended') return [];
    const { turn } = s.phase;
    // The run has not said what it gave to the agent, and nobody waits for its word.
    return inOrder(s, always(...cancelTurn(s, reason, now)), cutTurn(turn, reason, now, true));
  },
  (s) => inOrder(s, askToEnd(reason), cutTalk(reason, now)),
  missPending(reason, now),
  (s) =>
    s.queue.map((m) => ({ type: 'MessageFailed', data: { message_id: m.message_id, reason } })),
  (s) => s.attention.map((c) => ({ type: 'AttentionCleared', data: { card_id: c.id, reason } })),
];

export function archiveSession(s: Session, { now }: CommandOf<'ArchiveSession'>): SessionEvent[] {
  if (s.phase.state === 'ARCHIVED') return [];
  if (s.phase.state === 'DELETED') throw ended(s);
  refuseWhileBusy(s, 'archive');
  return inOrder(
    s,
    ...windUp('the session was archived', now),
    release(heldSandbox(s), { cause: 'archive', now }),
    dropAll('archived', s.checkpointing),
    always({ type: 'SessionArchived', data: { archived_at: now } }),
  );
}

export function deleteSession(
  s: Session,
  { data, now }: CommandOf<'DeleteSession'>,
): SessionEvent[] {
  if (s.phase.state === 'DELETED') return [];
  if (!data.force) refuseWhileBusy(s, 'delete');
  return inOrder(
    s,
    ...windUp('the session was deleted', now),
    release(heldSandbox(s), { cause: 'delete', now }),
    dropAll('deleted', s.checkpointing),
    always({
      type: 'SessionDeleted',
      data: { session_id: s.id, deleted_by: data.deleted_by, deleted_at: now },
    }),
  );
}
