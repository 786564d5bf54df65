import type {
  AnsweredAsk,
  Ask,
  CheckpointPart,
  Continuity,
  Omission,
  Permissions,
  SandboxPlace,
  TokenUsage,
} from '@hangar/contracts';

/** A message that waits for a turn; first in, first out [M1]. */
export interface QueuedMessage {
  message_id: string;
  text: string;
  mode: string;
  queued_at: string;
  /** Offered to the turn that runs, which delivers or returns it [M3]; `wanted_back` by a person [M4]. */
  offered?: { turn: number; wanted_back: boolean };
}

export interface Turn {
  number: number;
  run_id: string;
  message_id: string;
  message: string;
  requested_at: string;
  started_at: string | null;
  finished_at: string | null;
  outcome: string | null;
  exit_code: number | null;
  summary: string;
  usage: TokenUsage | null;
  error: string | null;
  conversation: string | null;
  checkpoint_id: string | null;
  /** Since when its time limit counts: waiting on a person is not the agent's time. */
  counts_from: string;
  /** What it was begun with, for a retry [S3]. */
  answered: AnsweredAsk | null;
}

export interface SessionCheckpoint {
  id: string;
  reason: string;
  turn: number;
  taken_at: string;
  complete: boolean;
  head: string | null;
  base: string | null;
  bytes: number;
  parts: CheckpointPart[];
  skipped: Omission[];
  warnings: Omission[];
  fingerprint: string | null;
}

export interface AttentionCard {
  id: string;
  kind: string;
  text: string;
  choices: string[];
  since: string;
  /** Of a question or a decision: what the agent asked, and in which turn [A1]. */
  asked?: Ask;
  turn?: number;
}

/** A card that the agent waits on. */
export type AskCard = AttentionCard & { asked: Ask; turn: number };

/** An answer that the call which asked for it cannot take any more: it goes on as a message [A2]. */
export interface GivenAnswer extends AnsweredAsk {
  card_id: string;
  message_id: string;
}

/** A person talks with the agent itself: no turn begins, and the sandbox stays. */
export interface Talk {
  terminal_id: string;
  request_id: string;
  since: string;
  /** It was asked to end. */
  ending: boolean;
}

/** The sandbox this session holds; `place` is null until it answers. */
export interface SandboxHold {
  id: string;
  epoch: number;
  /** The one that is in it. */
  harness: string;
  place: SandboxPlace | null;
}

/** What the session is doing, one shape for each state [S2]. */
export type Phase =
  | {
      state: 'STARTING' | 'RESUMING';
      sandbox: SandboxHold;
      restoring: { checkpoint_id: string; attempt: number } | null;
      step: string;
      text: string;
      since: string;
    }
  | { state: 'IDLE'; sandbox: SandboxHold; since: string }
  | {
      state: 'ACTIVE';
      sandbox: SandboxHold;
      turn: number;
      /** `deferring`: it waits on a person and ends on that, so that the session can suspend [A2]. */
      step: 'requested' | 'running' | 'deferring' | 'cancelling' | 'ended';
      since: string;
    }
  | {
      state: 'SUSPENDING';
      sandbox: SandboxHold;
      /** The work is being saved, then the sandbox is let go of. */
      step: 'checkpoint' | 'release';
      automatic: boolean;
      /** A person gave up what cannot be saved [X3]. */
      force: boolean;
      reason: string;
      /** When the release was asked for; null before that. */
      release_requested_at: string | null;
      /** The interrupted turn that a person has still to decide on after it [S3]. */
      interrupted_turn: number | null;
    }
  | { state: 'SUSPENDED' }
  | { state: 'INTERRUPTED'; sandbox: SandboxHold | null; turn: number; since: string }
  | { state: 'FAILED'; sandbox: SandboxHold | null }
  | { state: 'ARCHIVED'; sandbox: SandboxHold | null }
  | { state: 'DELETED'; sandbox: SandboxHold | null };

export interface Session {
  id: string;
  name: string;
  title: string;
  owner: string;
  environment: string;
  harness: string;
  model: string | null;
  repo: string | null;
  base_branch: string | null;
  branch: string;
  cwd: string;
  idle_minutes: number;
  turn_minutes: number;
  checkpoints_kept_max: number;
  created_at: string;
  harness_session: string | null;
  conversation: 'native' | 'handoff' | 'none';
  phase: Phase;
  state_reason: string;
  /** Sandboxes and checkpoints asked for so far: the next one's number is one more. */
  epoch: number;
  checkpoint_number: number;
  /** The epoch of the newest sandbox that work could happen in: older ones are behind it. */
  attached_epoch: number;
  /** Number of the newest checkpoint that was taken or found still good. */
  checkpoint_settled: number;
  /** The checkpoint being taken; one at a time. */
  checkpointing: { id: string; reason: string; due_at: string } | null;
  last_checkpoint_at: string;
  /** Only while IDLE. */
  talk: Talk | null;
  /** Talks so far: the next one's number is one more. */
  talk_number: number;
  /** A checkpoint has to follow the one being taken: what was said is not saved yet. */
  talk_unsaved: boolean;
  queue: QueuedMessage[];
  /** Ids of the newest messages that were delivered into a running turn, for the same reason. */
  delivered: string[];
  /** Ids of the newest messages taken back, so that none comes again when sent twice [M4]. */
  taken_back: string[];
  turns: Turn[];
  checkpoints: SessionCheckpoint[];
  continuity: Continuity | null;
  attention: AttentionCard[];
  permissions: Permissions;
  /** The conversation is with another harness than the next turn's [H3]. */
  hand_off: boolean;
  /** What was left by the newest change of harness, until a turn with the other one begins. */
  left: Pick<Session, 'harness' | 'harness_session' | 'conversation'> | null;
  /** The provider takes no work until then; the turn is worked on again by itself [M7]. */
  limited: { turn: number; until: string } | null;
  /** Until the next turn begins, which takes the one that its message is of. */
  given: GivenAnswer[];
  /** The newest cards of asks that are closed: a late answer hears why, and none opens again [A2]. */
  closed: { card_id: string; reason: string }[];
  /** Lines for the agent, said once in front of its next message [R2]. */
  notes: string[];
}

export type SessionState = Session | null;

export const initialState: SessionState = null;

/** The number in `ckp-1a2b3c4d-7` and the like: which of its kind in this session it is, from 1. */
export const partNumber = (partId: string): number =>
  Number(partId.slice(partId.lastIndexOf('-') + 1));

/** The sandbox the session holds now, in whatever state. */
export const heldSandbox = (s: Session): SandboxHold | null =>
  'sandbox' in s.phase ? s.phase.sandbox : null;

export const turnOf = (s: Session, number: number): Turn | undefined =>
  s.turns.find((t) => t.number === number);

/** Work that cannot be saved whole; the usage limit of a provider is about a turn. */
export const isUnsaved = (card: AttentionCard): boolean =>
  card.kind === 'limit' && card.turn === undefined;

export const isAsk = (card: AttentionCard): card is AskCard =>
  card.asked !== undefined && card.turn !== undefined;

/** What the running turn waits on; empty when it works. */
export const openAsks = (s: Session): AskCard[] => {
  const { phase } = s;
  if (phase.state !== 'ACTIVE' || phase.step === 'ended') return [];
  return s.attention.filter(isAsk).filter(({ turn }) => turn === phase.turn);
};

/** The message of the turn that is running: no longer to be taken back, perhaps not delivered yet. */
export function inFlightMessage(s: Session): string | null {
  if (s.phase.state !== 'ACTIVE' || s.phase.step === 'ended') return null;
  return turnOf(s, s.phase.turn)?.message_id ?? null;
}

/** Only the run of the open turn may speak; anything else is late or doubled, and quiet [M5]. */
export function isOpenTurn(s: Session, data: { run_id: string; turn: number }): boolean {
  const { phase } = s;
  return (
    phase.state === 'ACTIVE' &&
    phase.step !== 'ended' &&
    phase.turn === data.turn &&
    turnOf(s, data.turn)?.run_id === data.run_id
  );
}
