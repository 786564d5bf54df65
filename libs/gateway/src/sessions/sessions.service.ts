import {
  TAKE_BACK_SECONDS_MAX,
  deriveId,
  type AnswerCardBody,
  type ChangeHarness,
  type PermissionsDocument,
  HangarError,
  type CreateSession,
  type DeleteSessionQuery,
  type ListSessionsQuery,
  type MessageReceipt,
  type Page,
  type PageQuery,
  type RenameSession,
  type SendMessage,
  type SessionCard,
  type SessionDocument,
  type SessionOutcome,
  type SessionSummary,
  type WaitQuery,
} from '@hangar/contracts';
import { Answer } from '../auth/answer.ts';
import type { Caller } from '../auth/caller.ts';
import type { Commands, Executed } from '../commands.ts';
import type { EnvironmentReader } from '../environments/environment.reader.ts';
import type { Creation, Idempotency } from '../idempotency/idempotency.ts';
import type { GatewaySettings } from '../settings.ts';
import type { ViewWatch } from '../views/view-watch.ts';
import { answerOf } from './card-answer.ts';
import { messageText } from './message-text.ts';
import { newSession, requireAsking, requireHarness } from './new-session.ts';
import { sessionDocument, type SessionRows } from './session.document.ts';
import * as outcome from './session.outcome.ts';
import type { SessionReader } from './session.reader.ts';
import type { MessageView, SessionView } from './session.view.ts';

/** How long an answer is held back for the outcome, and who looks on meanwhile. */
export interface Hold extends WaitQuery {
  /** With each look at the session, while the answer is held back; `null`: deleted. */
  onLook?(rows: SessionRows | null): Promise<void>;
}

export interface SessionsParts {
  reader: SessionReader;
  environments: EnvironmentReader;
  commands: Commands;
  watch: ViewWatch;
  idempotency: Idempotency;
  settings: GatewaySettings;
}

/** Ids have 32 random bits: a new session whose id is taken gets the next one, this often. */
const ID_ATTEMPTS_MAX = 5;

/** What a creating call remembers for its repetition, and what a wait needs to know. */
interface Made<Body> {
  body: Body;
  session_id: string;
  message_id: string | null;
  version: number;
}

/** Calls about sessions: a request in, a command to the owner, the document or receipt out. */
export class SessionsService {
  readonly #parts: SessionsParts;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  list(caller: Caller, query: ListSessionsQuery): Promise<Page<SessionSummary>> {
    return this.#parts.reader.list(caller.owner, query);
  }

  cards(caller: Caller, query: PageQuery): Promise<Page<SessionCard>> {
    return this.#parts.reader.cards(caller.owner, query);
  }

  get(caller: Caller, ref: string): Promise<SessionDocument> {
    return this.#parts.reader.document(caller.owner, ref);
  }

  async create(
    caller: Caller,
    creation: Creation,
    body: CreateSession,
    hold: Hold,
  ): Promise<Answer> {
    const made = await this.#parts.idempotency.once(caller, creation, (seed) =>
      this.#make(caller, seed, body),
    );
    if (hold.wait === undefined) return new Answer(201, made.body);
    const { session_id, message_id, version } = made;
    const wanted = message_id ? outcome.answered(version, message_id) : outcome.started(version);
    return this.#waited(caller, session_id, wanted, hold, message_id);
  }

  async #make(caller: Caller, seed: string, body: CreateSession): Promise<Made<SessionDocument>> {
    const { environments, commands, settings, reader } = this.#parts;
    const { owner } = caller;
    const { recipe } = await environments.get(owner, body.environment);
    for (let attempt = 0; attempt < ID_ATTEMPTS_MAX; attempt += 1) {
      const session_id = deriveId('ses', seed, attempt);
      const message_id = deriveId('msg', session_id, seed);
      const data = newSession({ session_id, message_id, owner }, body, recipe, settings);
      const done = await commands.send('session', 'CreateSession', session_id, data, caller);
      await this.#parts.watch.caughtUp();
      const rows = await reader.rows(session_id);
      // Quiet and not to be read yet: made by a twin of this request, whose answer is still due.
      if (!rows) throw lagging(`Session ${body.name} (${session_id}) was created.`);
      // Quiet: made before by a twin of this request, or the id is that of another session.
      const isMine = done.events.length > 0 || isSame(rows.session, owner, body);
      if (!isMine) continue;
      return {
        body: sessionDocument(rows),
        session_id,
        message_id: body.message === undefined ? null : message_id,
        version: done.version,
      };
    }
    throw new HangarError('unavailable', 'No free session id was found; nothing was created.', {
      hint: 'Try again.',
    });
  }

  async send(
    caller: Caller,
    ref: string,
    creation: Creation,
    body: SendMessage,
    hold: Hold,
  ): Promise<Answer> {
    const { reader, settings } = this.#parts;
    const { id, harness } = await reader.find(caller.owner, ref);
    const steers = settings.harnesses.some(
      ({ name, capabilities }) => name === harness && capabilities['steer'] === true,
    );
    const made = await this.#parts.idempotency.once(caller, creation, (seed) =>
      this.#queue(caller, id, seed, { ...body, steers }),
    );
    if (hold.wait === undefined) return new Answer(202, made.body);
    const { message_id } = made.body;
    return this.#waited(caller, id, outcome.answered(made.version, message_id), hold, message_id);
  }

  async #queue(
    caller: Caller,
    id: string,
    seed: string,
    { steers, ...body }: SendMessage & { steers: boolean },
  ): Promise<Made<MessageReceipt>> {
    const message_id = deriveId('msg', id, seed);
    const data = { message_id, text: messageText(body), mode: body.mode, steers };
    const { version } = await this.#command(caller, id, 'SendMessage', data);
    const receipt = await this.#receipt(id, message_id);
    return { body: receipt, session_id: id, message_id, version };
  }

  /** Of a message that was offered to the running turn the harness says who has it [M4]. */
  async takeBack(caller: Caller, ref: string, message_id: string): Promise<Answer> {
    const { reader, watch } = this.#parts;
    const { id } = await reader.find(caller.owner, ref);
    await this.#command(caller, id, 'TakeBackMessage', { message_id });
    const look = async (): Promise<true | null> =>
      (await reader.message(id, message_id))?.status === 'queued' ? null : true;
    await watch.until(look, { seconds: TAKE_BACK_SECONDS_MAX, gone: caller.gone });
    const receipt = await this.#receipt(id, message_id);
    if (receipt.status === 'delivered')
      throw new HangarError('conflict', 'The agent has this message already.', {
        hint: 'Interrupt the turn to stop the work on it.',
      });
    return new Answer(receipt.status === 'queued' ? 202 : 200, receipt);
  }

  async #receipt(id: string, message_id: string): Promise<MessageReceipt> {
    const { state, message, turn } = await this.#parts.reader.whereabouts(id, message_id);
    const status = (message?.status ?? 'queued') as MessageReceipt['status'];
    return {
      message_id,
      status,
      mode: message?.mode ?? 'auto',
      becomes: status === 'queued' ? becomesOf(state, message, turn) : null,
      ...(turn === null ? {} : { turn }),
    };
  }

  async answerCard(
    caller: Caller,
    ref: string,
    card_id: string,
    body: AnswerCardBody,
    hold: Hold,
  ): Promise<Answer> {
    const { reader } = this.#parts;
    const { id } = await reader.find(caller.owner, ref);
    const card = await reader.card(id, card_id);
    const data = {
      card_id,
      answer: answerOf(body, card?.asked ?? null),
      answered_by: caller.owner,
    };
    const { version } = await this.#command(caller, id, 'AnswerCard', data);
    return this.#accepted(caller, id, outcome.answeredCard(version), hold);
  }

  /** Another model or harness from the next turn on; the model goes with its harness [H3]. */
  async changeHarness(caller: Caller, ref: string, body: ChangeHarness): Promise<SessionDocument> {
    const { reader, environments, settings } = this.#parts;
    const session = await reader.find(caller.owner, ref);
    const harness = body.harness ?? session.harness;
    const { recipe } = await environments.get(caller.owner, session.environment);
    requireHarness({ harness, environment: session.environment }, recipe, settings.harnesses);
    requireAsking(harness, session.permissions, settings.harnesses);
    const model = body.model === undefined && harness === session.harness ? session.model : null;
    const data = { harness, model: body.model ?? model };
    await this.#command(caller, session.id, 'ChangeHarness', data);
    return this.get(caller, session.id);
  }

  async permissions(
    caller: Caller,
    ref: string,
    data: PermissionsDocument,
  ): Promise<SessionDocument> {
    const { reader, settings } = this.#parts;
    const { id, harness } = await reader.find(caller.owner, ref);
    requireAsking(harness, data, settings.harnesses);
    await this.#command(caller, id, 'ChangePermissions', data);
    return this.get(caller, id);
  }

  async open(caller: Caller, ref: string, hold: Hold): Promise<Answer> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    const { version } = await this.#command(caller, id, 'OpenSession', {});
    return this.#accepted(caller, id, outcome.started(version), hold);
  }

  async suspend(
    caller: Caller,
    ref: string,
    data: { force: boolean },
    hold: Hold,
  ): Promise<Answer> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    const { version } = await this.#command(caller, id, 'SuspendSession', data);
    return this.#accepted(caller, id, outcome.suspended(version), hold);
  }

  async interrupt(caller: Caller, ref: string, hold: Hold): Promise<Answer> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    const { version } = await this.#command(caller, id, 'InterruptTurn', {});
    const turns = await this.#parts.reader.turns(id);
    const running = Math.max(0, ...turns.map(({ number }) => number));
    return this.#accepted(caller, id, outcome.turnOver(version, running), hold);
  }

  async retry(caller: Caller, ref: string, hold: Hold): Promise<Answer> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    const { version } = await this.#command(caller, id, 'RetryTurn', {});
    return this.#accepted(caller, id, outcome.atRest(version), hold);
  }

  async continue(caller: Caller, ref: string, hold: Hold): Promise<Answer> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    const { version } = await this.#command(caller, id, 'ContinueSession', {});
    return this.#accepted(caller, id, outcome.started(version), hold);
  }

  /**
   * Waits for what became of a message, or without one until the session is at rest or asks a
   * person. Changes nothing. Throws `not_found` for a message that the session never had.
   */
  async wait(
    caller: Caller,
    ref: string,
    message_id: string | null,
    hold: Hold,
  ): Promise<Answer<SessionOutcome>> {
    const { reader } = this.#parts;
    const { id, name } = await reader.find(caller.owner, ref);
    if (message_id === null) return this.#waited(caller, id, outcome.answeredCard(0), hold);
    if (!(await reader.message(id, message_id)))
      throw new HangarError('not_found', `Session ${name} has no message ${message_id}.`, {
        hint: 'Leave the message out to wait for the session itself.',
      });
    return this.#waited(caller, id, outcome.answered(0, message_id), hold, message_id);
  }

  async archive(caller: Caller, ref: string): Promise<SessionDocument> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    await this.#command(caller, id, 'ArchiveSession', {});
    return this.get(caller, id);
  }

  async keep(
    caller: Caller,
    ref: string,
    data: { idle_minutes: number },
  ): Promise<SessionDocument> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    await this.#command(caller, id, 'KeepSession', data);
    return this.get(caller, id);
  }

  async rename(caller: Caller, ref: string, body: RenameSession): Promise<SessionDocument> {
    const session = await this.#parts.reader.find(caller.owner, ref);
    const data = { name: body.name ?? session.name, title: body.title ?? session.title };
    await this.#command(caller, session.id, 'RenameSession', data);
    return this.get(caller, session.id);
  }

  async delete(caller: Caller, ref: string, query: DeleteSessionQuery): Promise<void> {
    const { id } = await this.#parts.reader.find(caller.owner, ref);
    const data = { force: query.force ?? false, deleted_by: caller.owner };
    await this.#command(caller, id, 'DeleteSession', data);
  }

  /** Takes a checkpoint now; one that is being taken already is the one that is meant. */
  async takeCheckpoint(
    caller: Caller,
    ref: string,
    creation: Creation,
    hold: Hold,
  ): Promise<Answer> {
    const { reader, idempotency } = this.#parts;
    const { id } = await reader.find(caller.owner, ref);
    const made = await idempotency.once(caller, creation, async () => {
      const { version } = await this.#command(caller, id, 'TakeCheckpoint', {});
      const session = await reader.find(caller.owner, id);
      const body = await this.get(caller, id);
      return { body, version, checkpoint_id: session.checkpointing };
    });
    if (hold.wait === undefined) return new Answer(202, made.body);
    const wanted = outcome.checkpointSettled(made.version, made.checkpoint_id);
    return this.#waited(caller, id, wanted, hold);
  }

  /** Sends a command and lets the read models follow, so that the next answer shows it. */
  async #command(caller: Caller, id: string, name: string, data: object): Promise<Executed> {
    const done = await this.#parts.commands.send('session', name, id, data, caller);
    await this.#parts.watch.caughtUp();
    return done;
  }

  async #accepted(
    caller: Caller,
    id: string,
    wanted: outcome.Outcome,
    hold: Hold,
  ): Promise<Answer> {
    if (hold.wait !== undefined) return this.#waited(caller, id, wanted, hold);
    return new Answer(202, await this.get(caller, id));
  }

  async #waited(
    caller: Caller,
    id: string,
    wanted: outcome.Outcome,
    { wait: seconds = 0, onLook }: Hold,
    message_id: string | null = null,
  ): Promise<Answer<SessionOutcome>> {
    const { reader, watch } = this.#parts;
    const look = async (): Promise<true | null> => {
      const rows = await reader.rows(id);
      if (wanted(rows)) return true;
      await onLook?.(rows);
      return null;
    };
    const reached = await watch.until(look, { seconds, gone: caller.gone });
    const document = await this.get(caller, id);
    return new Answer(reached ? 200 : 202, {
      ...document,
      waited: reached ?? false,
      ...(message_id ? { message_id } : {}),
    });
  }
}

/** A message then waits for the sandbox. */
const RESUMES: ReadonlySet<string> = new Set(['STARTING', 'RESUMING', 'SUSPENDING', 'SUSPENDED']);

/** What becomes of a message that waits [M3]. */
function becomesOf(
  state: string,
  message: MessageView | null,
  turn: number | null,
): MessageReceipt['becomes'] {
  if (message?.offered) return 'steer';
  if (turn !== null) return 'turn';
  return RESUMES.has(state) ? 'resume' : 'queue';
}

const isSame = (row: SessionView | undefined, owner: string, body: CreateSession): boolean =>
  row?.owner === owner &&
  row.name === body.name &&
  row.environment === body.environment &&
  row.harness === body.harness;

const lagging = (what: string): HangarError =>
  new HangarError('unavailable', `${what} It cannot be shown yet.`, {
    hint: 'Ask for it in a moment.',
  });
