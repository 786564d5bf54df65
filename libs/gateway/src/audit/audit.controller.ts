import { Controller, Inject, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  auditQuerySchema,
  eventPageSchema,
  replayQuerySchema,
  sessionDocumentSchema,
  verifyDocumentSchema,
  verifyQuerySchema,
  type AuditQuery,
  type ReplayQuery,
  type SessionDocument,
  type VerifyDocument,
} from '@hangar/contracts';
import type { Response } from 'express';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { AuditService } from './audit.service.ts';

@ApiTags('audit')
@Controller('api/audit')
export class AuditController {
  constructor(@Inject(AuditService) private readonly audit: AuditService) {}

  @Route({
    at: 'GET ',
    id: 'listAudit',
    summary: 'Events of the log in its order; format=jsonl exports from the cursor to the end.',
    scope: 'read',
    query: auditQuerySchema,
    answers: { 200: eventPageSchema },
    errors: ['not_found'],
  })
  async list(
    @FromCaller() caller: Caller,
    @Asked() query: AuditQuery,
    @Res() response: Response,
  ): Promise<void> {
    if (query.format === 'jsonl') await this.audit.export(caller, query, response);
    else response.json(await this.audit.list(caller, query));
  }

  @Route({
    at: 'GET verify',
    id: 'verifyAudit',
    summary: 'Check the hash chains: of one session, or of the whole log (admin).',
    scope: 'read',
    query: verifyQuerySchema,
    answers: { 200: verifyDocumentSchema },
    errors: ['not_found'],
  })
  verify(
    @FromCaller() caller: Caller,
    @Asked() query: { session?: string },
  ): Promise<VerifyDocument> {
    return this.audit.verify(caller, query.session);
  }

  @Route({
    at: 'GET replay',
    id: 'replaySession',
    summary: 'A session as it was at a version of its log.',
    scope: 'read',
    query: replayQuerySchema,
    answers: { 200: sessionDocumentSchema },
    errors: ['not_found'],
  })
  replay(@FromCaller() caller: Caller, @Asked() query: ReplayQuery): Promise<SessionDocument> {
    return this.audit.replay(caller, query);
  }
}
