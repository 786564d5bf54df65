import { pipeline } from 'node:stream/promises';
import { Body, Controller, Inject, Param, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  changesQuerySchema,
  changesSchema,
  checkpointIdSchema,
  checkpointListSchema,
  emptyBodySchema,
  EXEC_BODY_BYTES_MAX,
  execResultSchema,
  execSchema,
  sessionOutcomeSchema,
  sessionRefSchema,
  waitQuerySchema,
  type Changes,
  type CheckpointDocument,
  type ExecBody,
  type ExecResult,
  type WaitQuery,
} from '@hangar/contracts';
import type { Response } from 'express';
import { z } from 'zod';
import type { Answer } from '../auth/answer.ts';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { FromCreation, type Creation } from '../idempotency/idempotency.ts';
import { SessionsService } from '../sessions/sessions.service.ts';
import { SandboxCallsService } from './sandbox-calls.service.ts';

const REF = { schema: sessionRefSchema };

@ApiTags('checkpoints')
@Controller('api/sessions/:ref')
export class CheckpointsController {
  constructor(
    @Inject(SandboxCallsService) private readonly calls: SandboxCallsService,
    @Inject(SessionsService) private readonly sessions: SessionsService,
  ) {}

  @Route({
    at: 'GET checkpoints',
    id: 'listCheckpoints',
    summary: 'The checkpoints that are kept, newest last.',
    scope: 'read',
    answers: { 200: checkpointListSchema },
    errors: ['not_found'],
  })
  list(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
  ): Promise<{ items: CheckpointDocument[] }> {
    return this.calls.checkpoints(caller, ref);
  }

  @Route({
    at: 'POST checkpoints',
    id: 'takeCheckpoint',
    summary: 'Take a checkpoint now.',
    scope: 'write',
    creates: true,
    query: waitQuerySchema,
    answers: { 202: sessionOutcomeSchema, 200: sessionOutcomeSchema },
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  take(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @FromCreation() creation: Creation,
    @Body({ schema: emptyBodySchema.optional() }) _body: object,
    @Asked() query: WaitQuery,
  ): Promise<Answer> {
    return this.sessions.takeCheckpoint(caller, ref, creation, query);
  }

  @Route({
    at: 'GET checkpoints/:id/export',
    id: 'exportCheckpoint',
    summary: 'The parts of a checkpoint, opened, as a tar.',
    scope: 'read',
    answers: { 200: z.string() },
    produces: 'application/x-tar',
    errors: ['not_found'],
  })
  async export(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Param('id', { schema: checkpointIdSchema }) id: string,
    @Res() response: Response,
  ): Promise<void> {
    const tar = await this.calls.export(caller, ref, id);
    response.setHeader('Content-Type', 'application/x-tar');
    response.setHeader('Content-Disposition', `attachment; filename="${id}.tar"`);
    await pipeline(tar, response);
  }

  @Route({
    at: 'GET changes',
    id: 'readChanges',
    summary: 'The work against the base, with a diff per file.',
    scope: 'read',
    query: changesQuerySchema,
    answers: { 200: changesSchema },
    errors: ['not_found', 'conflict'],
  })
  changes(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Asked() query: { checkpoint?: string },
  ): Promise<Changes> {
    return this.calls.changes(caller, ref, query.checkpoint);
  }

  @Route({
    at: 'POST exec',
    id: 'exec',
    summary: 'Run a command in the sandbox, and wait for its end.',
    scope: 'write',
    bodyBytesMax: EXEC_BODY_BYTES_MAX,
    answers: { 200: execResultSchema },
    errors: ['not_found', 'conflict'],
  })
  exec(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Body({ schema: execSchema }) body: ExecBody,
  ): Promise<ExecResult> {
    return this.calls.exec(caller, ref, body);
  }
}
