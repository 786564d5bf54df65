import type { SessionRows } from './session.document.ts';

/** Whether what somebody waits for has come; `rows` is null when the session was deleted. */
export type Outcome = (rows: SessionRows | null) => boolean;

const STARTING: ReadonlySet<string> = new Set(['STARTING', 'RESUMING']);
/** Nothing happens in these without a call; INTERRUPTED waits on a person. */
const AT_REST: ReadonlySet<string> = new Set([
  'IDLE',
  'SUSPENDED',
  'INTERRUPTED',
  'FAILED',
  'ARCHIVED',
]);

/** A message that waits in these has no turn until somebody decides. */
const WAITS_ON_A_PERSON: ReadonlySet<string> = new Set(['INTERRUPTED', 'FAILED', 'ARCHIVED']);

/** Judged only once the read models show the command itself. */
const since =
  (version: number, holds: (rows: SessionRows) => boolean): Outcome =>
  (rows) =>
    rows === null || (rows.session.version >= version && holds(rows));

/** open, continue: the sandbox is there, or will not come. */
export const started = (version: number): Outcome =>
  since(version, ({ session }) => !STARTING.has(session.state));

/** suspend: suspended, or aborted with a reason. A turn that waits on a person ends first [A2]. */
export const suspended = (version: number): Outcome =>
  since(
    version,
    (rows) =>
      rows.session.state !== 'SUSPENDING' &&
      !(rows.session.state === 'ACTIVE' && rows.cards.some(({ asked }) => asked !== null)),
  );

/** retry and others that end in a turn: whatever it starts has come to rest. */
export const atRest = (version: number): Outcome => since(version, isAtRest);

const isAtRest = ({ session }: SessionRows): boolean =>
  AT_REST.has(session.state) && session.checkpointing === null;

/** answer: what goes on with it has come to rest, or waits on a person again. */
export const answeredCard = (version: number): Outcome =>
  since(version, (rows) => {
    const running = rows.turns.find(({ finished_at }) => finished_at === null)?.number;
    const asks = rows.cards.some(({ asked, turn }) => asked !== null && turn === running);
    return isAtRest(rows) || asks;
  });

/**
 * send: the turn that has the message is finished, and its checkpoint settled; that is so when the
 * session is at rest or works on a later turn. A message that will never have a turn is done too.
 */
export const answered = (version: number, messageId: string): Outcome =>
  since(version, (rows) => {
    const message = rows.messages.find(({ message_id }) => message_id === messageId);
    if (WAITS_ON_A_PERSON.has(rows.session.state)) return true;
    // A question may wait for days: whoever waits hears of it instead.
    if (waitsOnAnswer(rows)) return true;
    if (message?.status === 'taken_back') return true;
    const number =
      message?.turn ?? rows.turns.findLast(({ message_id }) => message_id === messageId)?.number;
    if (number === undefined || number === null) return message?.status === 'failed';
    return turnSettled(rows, number);
  });

/** The agent asks something in the turn that runs; what a turn was deferred on holds up nobody [A2]. */
const waitsOnAnswer = ({ session, turns, cards }: SessionRows): boolean =>
  session.state === 'ACTIVE' &&
  cards.some(
    ({ asked, turn }) =>
      asked !== null && turns.some((each) => each.number === turn && each.finished_at === null),
  );

/** interrupt: the turn that ran then is over and saved. */
export const turnOver = (version: number, turn: number): Outcome =>
  since(version, (rows) => turnSettled(rows, turn));

function turnSettled({ session, turns }: SessionRows, number: number): boolean {
  const turn = turns.find((candidate) => candidate.number === number);
  if (turn?.finished_at == null) return false;
  return session.state !== 'ACTIVE' || turns.some((other) => other.number > number);
}

/** A checkpoint that was asked for is recorded, or was missed. */
export const checkpointSettled = (version: number, checkpointId: string | null): Outcome =>
  since(version, ({ session }) => session.checkpointing !== checkpointId || checkpointId === null);
