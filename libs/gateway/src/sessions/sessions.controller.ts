import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  answerCardSchema,
  cardIdSchema,
  changeHarnessSchema,
  createSessionSchema,
  deleteSessionQuerySchema,
  emptyBodySchema,
  keepSessionSchema,
  listSessionsQuerySchema,
  messageIdSchema,
  messageReceiptSchema,
  permissionsSchema,
  renameSessionSchema,
  sendMessageSchema,
  sessionDocumentSchema,
  sessionOutcomeSchema,
  sessionPageSchema,
  sessionRefSchema,
  suspendSessionSchema,
  waitQuerySchema,
  type AnswerCardBody,
  type ChangeHarness,
  type CreateSession,
  type DeleteSessionQuery,
  type ListSessionsQuery,
  type PermissionsDocument,
  type Page,
  type RenameSession,
  type SendMessage,
  type SessionDocument,
  type SessionSummary,
  type WaitQuery,
} from '@hangar/contracts';
import type { Answer } from '../auth/answer.ts';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { FromCreation, type Creation } from '../idempotency/idempotency.ts';
import { SessionsService } from './sessions.service.ts';

const NO_BODY = { schema: emptyBodySchema.optional() };
const REF = { schema: sessionRefSchema };
/** Answers of calls that may wait: the outcome, or what there is when the time ran out. */
const WAITED = { 202: sessionOutcomeSchema, 200: sessionOutcomeSchema };

@ApiTags('sessions')
@Controller('api/sessions')
export class SessionsController {
  constructor(@Inject(SessionsService) private readonly sessions: SessionsService) {}

  @Route({
    at: 'POST ',
    id: 'createSession',
    summary: 'Start a session; its name is free, or this is a conflict.',
    scope: 'write',
    creates: true,
    query: waitQuerySchema,
    answers: { 201: sessionDocumentSchema, ...WAITED },
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  create(
    @FromCaller() caller: Caller,
    @FromCreation() creation: Creation,
    @Body({ schema: createSessionSchema }) body: CreateSession,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.create(caller, creation, body, query);
  }

  @Route({
    at: 'GET ',
    id: 'listSessions',
    summary: 'Your sessions, newest first.',
    scope: 'read',
    query: listSessionsQuerySchema,
    answers: { 200: sessionPageSchema },
  })
  list(
    @FromCaller() caller: Caller,
    @Asked() query: ListSessionsQuery,
  ): Promise<Page<SessionSummary>> {
    return this.sessions.list(caller, query);
  }

  @Route({
    at: 'GET :ref',
    id: 'getSession',
    summary: 'A session by id or name, whole.',
    scope: 'read',
    answers: { 200: sessionDocumentSchema },
    errors: ['not_found'],
  })
  get(@FromCaller() caller: Caller, @Param('ref', REF) ref: string): Promise<SessionDocument> {
    return this.sessions.get(caller, ref);
  }

  @Route({
    at: 'POST :ref/open',
    id: 'openSession',
    summary: 'Resume it, or start it again after a failure; opening what is open changes nothing.',
    scope: 'write',
    query: waitQuerySchema,
    answers: WAITED,
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  open(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body(NO_BODY) _body: object,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.open(caller, ref, query);
  }

  @Route({
    at: 'POST :ref/send',
    id: 'sendMessage',
    summary:
      'Send a message, comments on lines of changes, or both; a suspended session resumes by itself.',
    scope: 'write',
    creates: true,
    query: waitQuerySchema,
    answers: { 202: messageReceiptSchema, 200: sessionOutcomeSchema },
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  send(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @FromCreation() creation: Creation,
    @Body({ schema: sendMessageSchema }) body: SendMessage,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.send(caller, ref, creation, body, query);
  }

  @Route({
    at: 'DELETE :ref/queue/:message_id',
    id: 'takeBackMessage',
    summary: 'Take a message back that the agent does not have yet.',
    scope: 'write',
    answers: { 200: messageReceiptSchema, 202: messageReceiptSchema },
    errors: ['not_found', 'conflict'],
  })
  takeBack(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Param('message_id', { schema: messageIdSchema }) messageId: string,
  ): Promise<Answer> {
    return this.sessions.takeBack(caller, ref, messageId);
  }

  @Route({
    at: 'POST :ref/cards/:card_id/answer',
    id: 'answerCard',
    summary: 'Answer a question or decide on a tool call; the first answer counts.',
    scope: 'write',
    query: waitQuerySchema,
    answers: WAITED,
    errors: ['not_found', 'conflict'],
  })
  answer(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Param('card_id', { schema: cardIdSchema }) cardId: string,
    @Body({ schema: answerCardSchema }) body: AnswerCardBody,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.answerCard(caller, ref, cardId, body, query);
  }

  @Route({
    at: 'PUT :ref/harness',
    id: 'changeHarness',
    summary: 'Another harness or model, from the next turn on; it gets an account of the work.',
    scope: 'write',
    answers: { 200: sessionDocumentSchema },
    errors: ['not_found', 'conflict'],
  })
  harness(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body({ schema: changeHarnessSchema }) body: ChangeHarness,
  ): Promise<SessionDocument> {
    return this.sessions.changeHarness(caller, ref, body);
  }

  @Route({
    at: 'PUT :ref/permissions',
    id: 'changePermissions',
    summary: 'What its tool calls need leave for, from the next turn on.',
    scope: 'write',
    answers: { 200: sessionDocumentSchema },
    errors: ['not_found', 'conflict'],
  })
  permissions(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body({ schema: permissionsSchema }) body: PermissionsDocument,
  ): Promise<SessionDocument> {
    return this.sessions.permissions(caller, ref, body);
  }

  @Route({
    at: 'POST :ref/suspend',
    id: 'suspendSession',
    summary: 'Save the work and release the sandbox.',
    scope: 'write',
    query: waitQuerySchema,
    answers: WAITED,
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  suspend(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body({ schema: suspendSessionSchema.prefault({}) }) body: { force: boolean },
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.suspend(caller, ref, body, query);
  }

  @Route({
    at: 'POST :ref/interrupt',
    id: 'interruptTurn',
    summary: 'Stop the running turn and keep its work and the queue.',
    scope: 'write',
    query: waitQuerySchema,
    answers: WAITED,
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  interrupt(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body(NO_BODY) _body: object,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.interrupt(caller, ref, query);
  }

  @Route({
    at: 'POST :ref/retry',
    id: 'retryTurn',
    summary: 'Run the interrupted message again.',
    scope: 'write',
    query: waitQuerySchema,
    answers: WAITED,
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  retry(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body(NO_BODY) _body: object,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.retry(caller, ref, query);
  }

  @Route({
    at: 'POST :ref/continue',
    id: 'continueSession',
    summary: 'Go on without the interrupted message.',
    scope: 'write',
    query: waitQuerySchema,
    answers: WAITED,
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  continue(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body(NO_BODY) _body: object,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.continue(caller, ref, query);
  }

  @Route({
    at: 'POST :ref/keep',
    id: 'keepSession',
    summary: 'Change after how many idle minutes it suspends; 0 keeps it up.',
    scope: 'write',
    answers: { 200: sessionDocumentSchema },
    errors: ['not_found', 'conflict'],
  })
  keep(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body({ schema: keepSessionSchema }) body: { idle_minutes: number },
  ): Promise<SessionDocument> {
    return this.sessions.keep(caller, ref, body);
  }

  @Route({
    at: 'POST :ref/rename',
    id: 'renameSession',
    summary: 'Change name and title; branch, paths and ids stay.',
    scope: 'write',
    answers: { 200: sessionDocumentSchema },
    errors: ['not_found', 'conflict'],
  })
  rename(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body({ schema: renameSessionSchema }) body: RenameSession,
  ): Promise<SessionDocument> {
    return this.sessions.rename(caller, ref, body);
  }

  @Route({
    at: 'POST :ref/archive',
    id: 'archiveSession',
    summary: 'Drop its checkpoints; keep the record, the summaries and the audit trail.',
    scope: 'write',
    answers: { 200: sessionDocumentSchema },
    errors: ['not_found', 'conflict'],
  })
  archive(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body(NO_BODY) _body: object,
  ): Promise<SessionDocument> {
    return this.sessions.archive(caller, ref);
  }

  @Route({
    at: 'DELETE :ref',
    id: 'deleteSession',
    summary: 'Remove the session and its blobs; force also stops a turn at work.',
    scope: 'write',
    query: deleteSessionQuerySchema,
    answers: { 204: null },
    errors: ['not_found', 'conflict'],
  })
  delete(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Asked() query: DeleteSessionQuery,
  ): Promise<void> {
    return this.sessions.delete(caller, ref, query);
  }
}
