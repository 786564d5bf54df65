import type {
  AnswerCardInput,
  ChangeHarness,
  CreateSessionInput,
  MessageReceipt,
  Page,
  PermissionsInput,
  RenameSession,
  SendMessageInput,
  SessionCard,
  SessionDocument,
  SessionOutcome,
  SessionStateName,
  SessionSummary,
} from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import {
  newIdempotencyKey,
  segment,
  sessionPath,
  type CallOptions,
  type CreateOptions,
  type WaitOptions,
} from './call-options.ts';

export interface SessionFilter {
  state?: SessionStateName | undefined;
  environment?: string | undefined;
  /** Part of the name, title, repo or branch. */
  q?: string | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** `ref` is an id or a name, everywhere [S1]. */
export interface SessionCalls {
  create(body: CreateSessionInput, options?: CreateOptions): Promise<SessionOutcome>;
  list(filter?: SessionFilter, options?: CallOptions): Promise<Page<SessionSummary>>;
  get(ref: string, options?: CallOptions): Promise<SessionDocument>;
  /** What waits on a person in any session, longest first. */
  cards(
    query?: { limit?: number | undefined; cursor?: string | undefined },
    options?: CallOptions,
  ): Promise<Page<SessionCard>>;
  open(ref: string, options?: WaitOptions): Promise<SessionOutcome>;
  /** Answers at once; the message waits in the session until it is delivered [M1]. */
  send(ref: string, body: SendMessageInput, options?: CreateOptions): Promise<MessageReceipt>;
  /** As `send`, answered when the turn of the message and its checkpoint are settled. */
  sendAndWait(
    ref: string,
    body: SendMessageInput,
    options: CreateOptions & { waitSeconds: number },
  ): Promise<SessionOutcome>;
  /**
   * Works until the message is delivered; afterwards `conflict` [M4]. Of a message that was offered
   * to the running turn the harness is asked first: `queued` says that it has not answered yet.
   */
  takeBack(ref: string, messageId: string, options?: CallOptions): Promise<MessageReceipt>;
  /** The first answer counts; a late one is `conflict` and says what was decided [A2]. */
  answer(
    ref: string,
    cardId: string,
    body: AnswerCardInput,
    options?: WaitOptions,
  ): Promise<SessionOutcome>;
  /** What its tool calls need leave for, from the next turn on [A3]. */
  permissions(ref: string, body: PermissionsInput, options?: CallOptions): Promise<SessionDocument>;
  /** Another harness or model, from the next turn on [H3]. */
  changeHarness(ref: string, body: ChangeHarness, options?: CallOptions): Promise<SessionDocument>;
  suspend(ref: string, body?: { force?: boolean }, options?: WaitOptions): Promise<SessionOutcome>;
  archive(ref: string, options?: CallOptions): Promise<SessionDocument>;
  /** 0: never suspended by itself. */
  keep(ref: string, idleMinutes: number, options?: CallOptions): Promise<SessionDocument>;
  interrupt(ref: string, options?: WaitOptions): Promise<SessionOutcome>;
  retry(ref: string, options?: WaitOptions): Promise<SessionOutcome>;
  continue(ref: string, options?: WaitOptions): Promise<SessionOutcome>;
  rename(ref: string, body: RenameSession, options?: CallOptions): Promise<SessionDocument>;
  /** `force` removes it although its sandbox holds work that no checkpoint has. */
  delete(ref: string, query?: { force?: boolean }, options?: CallOptions): Promise<void>;
}

interface Action {
  body?: object;
  repeatable?: boolean;
  options?: WaitOptions | undefined;
}

export function createSessionCalls(transport: Transport): SessionCalls {
  const act = (ref: string, verb: string, action: Action): Promise<SessionOutcome> =>
    transport.json<SessionOutcome>({
      method: 'POST',
      path: sessionPath(ref, `/${verb}`),
      body: action.body ?? {},
      repeatable: action.repeatable ?? false,
      ...waiting(action.options),
    });
  const send = <Answer>(
    ref: string,
    body: SendMessageInput,
    options: CreateOptions | undefined,
  ): Promise<Answer> =>
    transport.json<Answer>({
      method: 'POST',
      path: sessionPath(ref, '/send'),
      body,
      ...creating(options),
    });
  return {
    create: (body, options) =>
      transport.json({ method: 'POST', path: '/api/sessions', body, ...creating(options) }),
    list: (filter = {}, options = {}) =>
      transport.json({
        method: 'GET',
        path: '/api/sessions',
        query: { ...filter },
        signal: options.signal,
      }),
    get: (ref, options = {}) =>
      transport.json({ method: 'GET', path: sessionPath(ref), signal: options.signal }),
    send: (ref, body, options) => send(ref, body, options),
    sendAndWait: (ref, body, options) => send(ref, body, options),
    cards: (query = {}, options = {}) =>
      transport.json({
        method: 'GET',
        path: '/api/cards',
        query: { ...query },
        signal: options.signal,
      }),
    // These four say where to end up, so asking twice is asking once.
    open: (ref, options) => act(ref, 'open', { repeatable: true, options }),
    suspend: (ref, body = {}, options) => act(ref, 'suspend', { body, repeatable: true, options }),
    archive: (ref, options) => act(ref, 'archive', { repeatable: true, options }),
    keep: (ref, idleMinutes, options) =>
      act(ref, 'keep', { body: { idle_minutes: idleMinutes }, repeatable: true, options }),
    // A second one of these could hit the next turn: never sent again by itself.
    interrupt: (ref, options) => act(ref, 'interrupt', { options }),
    // A second one would be refused as late, although the first is what counts.
    answer: (ref, cardId, body, options) =>
      act(ref, `cards/${segment(cardId)}/answer`, { body, options }),
    changeHarness: (ref, body, options = {}) =>
      transport.json({
        method: 'PUT',
        path: sessionPath(ref, '/harness'),
        body,
        signal: options.signal,
      }),
    permissions: (ref, body, options = {}) =>
      transport.json({
        method: 'PUT',
        path: sessionPath(ref, '/permissions'),
        body,
        signal: options.signal,
      }),
    retry: (ref, options) => act(ref, 'retry', { options }),
    continue: (ref, options) => act(ref, 'continue', { options }),
    // After a rename the old name leads nowhere, so a second try would be answered wrongly.
    rename: (ref, body, options) => act(ref, 'rename', { body, options }),
    takeBack: (ref, messageId, options = {}) =>
      transport.json({
        method: 'DELETE',
        path: sessionPath(ref, `/queue/${segment(messageId)}`),
        signal: options.signal,
      }),
    async delete(ref, query = {}, options = {}) {
      const path = sessionPath(ref);
      await transport.json({
        method: 'DELETE',
        path,
        query: { force: query.force ? true : undefined },
        signal: options.signal,
      });
    },
  };
}

const waiting = (options: WaitOptions = {}) => ({
  query: { wait: options.waitSeconds },
  waitSeconds: options.waitSeconds,
  signal: options.signal,
});

const creating = (options: CreateOptions = {}) => ({
  ...waiting(options),
  idempotencyKey: options.idempotencyKey ?? newIdempotencyKey(),
});
