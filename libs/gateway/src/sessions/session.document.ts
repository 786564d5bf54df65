import {
  MESSAGES_QUEUED_MAX,
  MESSAGE_BYTES_MAX,
  type CardDocument,
  type CheckpointDocument,
  type QueuedMessageDocument,
  type SessionDocument,
  type SessionSummary,
  type TurnDocument,
} from '@hangar/contracts';
import type {
  CardView,
  CheckpointView,
  MessageView,
  SessionView,
  TurnView,
} from './session.view.ts';

/** All rows of one session. */
export interface SessionRows {
  session: SessionView;
  turns: TurnView[];
  checkpoints: CheckpointView[];
  messages: MessageView[];
  cards: CardView[];
}

/** What a list shows of the rows that it does not load. */
export interface SessionCounts {
  turn_count: number;
  last_summary: string;
  attention_count: number;
  queue_count: number;
}

const text = (time: Date): string => time.toISOString();
const textOrNull = (time: Date | null): string | null => time?.toISOString() ?? null;

const fieldsOf = (row: SessionView) => ({
  id: row.id,
  name: row.name,
  title: row.title,
  owner: row.owner,
  environment: row.environment,
  harness: row.harness,
  model: row.model,
  repo: row.repo,
  base_branch: row.base_branch,
  branch: row.branch,
  cwd: row.cwd,
  harness_session: row.harness_session,
  sandbox_id: row.sandbox_id,
  state: row.state as SessionDocument['state'],
  state_reason: row.state_reason,
  start_phase: row.start_phase,
  conversation: row.conversation,
  idle_minutes: row.idle_minutes,
  forked_from: null,
  talk: row.talk,
  created_at: text(row.created_at),
  last_active_at: text(row.last_active_at),
  updated_at: text(row.updated_at),
  version: row.version,
});

export const sessionSummary = (row: SessionView, counts: SessionCounts): SessionSummary => ({
  ...fieldsOf(row),
  ...counts,
});

/** The document of [S1]; turns and checkpoints newest last, the queue in the order of delivery. */
export function sessionDocument(rows: SessionRows): SessionDocument {
  const { session } = rows;
  return {
    ...fieldsOf(session),
    turns: rows.turns
      .toSorted((a, b) => a.number - b.number)
      .map((turn) => turnDocument(turn, rows.messages)),
    checkpoints: rows.checkpoints.toSorted(byOrdinal).map(checkpointDocument),
    continuity: session.continuity as SessionDocument['continuity'],
    attention: rows.cards.toSorted(byOrdinal).map(cardDocument),
    queue: queueOf(rows),
    limits: {
      idle_minutes: session.idle_minutes,
      turn_minutes: session.turn_minutes,
      session_keep_checkpoints: session.checkpoints_kept_max,
      messages_queued: MESSAGES_QUEUED_MAX,
      message_bytes: MESSAGE_BYTES_MAX,
    },
    permissions: session.permissions as SessionDocument['permissions'],
  };
}

const byOrdinal = (a: { ordinal: number }, b: { ordinal: number }): number => a.ordinal - b.ordinal;

export const turnDocument = (row: TurnView, messages: MessageView[]): TurnDocument => ({
  number: row.number,
  run_id: row.run_id,
  message_id: row.message_id,
  message: row.message,
  requested_at: text(row.requested_at),
  started_at: textOrNull(row.started_at),
  finished_at: textOrNull(row.finished_at),
  outcome: row.outcome,
  exit_code: row.exit_code,
  summary: row.summary,
  usage: row.usage as TurnDocument['usage'],
  error: row.error,
  conversation: row.conversation,
  steered: messages
    .filter(({ turn, message_id }) => turn === row.number && message_id !== row.message_id)
    .toSorted(byOrdinal)
    .map(({ message_id, text: words }) => ({ message_id, text: words })),
  checkpoint_id: row.checkpoint_id,
});

export const checkpointDocument = (row: CheckpointView): CheckpointDocument => ({
  id: row.id,
  reason: row.reason,
  turn: row.turn,
  taken_at: text(row.taken_at),
  complete: row.complete,
  head: row.head,
  base: row.base,
  bytes: row.bytes,
  parts: row.parts as CheckpointDocument['parts'],
  skipped: row.skipped as CheckpointDocument['skipped'],
  warnings: row.warnings as CheckpointDocument['warnings'],
});

export const cardDocument = (row: CardView): CardDocument => ({
  id: row.id,
  kind: row.kind,
  text: row.text,
  choices: row.choices,
  since: text(row.since),
  turn: row.turn,
  questions: row.asked?.questions ?? [],
  tool:
    row.asked?.tool === undefined
      ? null
      : { name: row.asked.tool, input: row.asked.tool_input ?? '' },
});

const GOES_FIRST: ReadonlySet<string> = new Set(['retry', 'interrupt', 'answer']);

/** That of the running turn, then the others as the session queues them (its evolve's `enqueue`). */
export function queueOf(rows: Pick<SessionRows, 'turns' | 'messages'>): QueuedMessageDocument[] {
  const running = rows.turns.find((turn) => turn.finished_at === null)?.message_id;
  const isRunning = ({ message_id }: MessageView): boolean => message_id === running;
  const queue: MessageView[] = [];
  for (const message of rows.messages.toSorted((a, b) => a.ordinal - b.ordinal)) {
    if (message.status !== 'queued') continue;
    const isAhead = (m: MessageView): boolean =>
      !GOES_FIRST.has(message.mode) || (m.mode === 'answer' && message.mode !== 'retry');
    queue.splice(
      0,
      queue.length,
      ...queue.filter(isAhead),
      message,
      ...queue.filter((m) => !isAhead(m)),
    );
  }
  return [...queue.filter(isRunning), ...queue.filter((m) => !isRunning(m))].map(
    ({ message_id, text: words, mode, queued_at, offered }) => ({
      message_id,
      text: words,
      mode,
      queued_at: text(queued_at),
      is_steering: offered,
    }),
  );
}
