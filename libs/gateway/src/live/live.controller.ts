import { Controller, Headers, Inject, Param, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { eventDocumentSchema, eventsQuerySchema, sessionRefSchema } from '@hangar/contracts';
import type { Response } from 'express';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { LiveService } from './live.service.ts';

const EVENT_STREAM = 'text/event-stream';

@ApiTags('events')
@Controller('api')
export class LiveController {
  constructor(@Inject(LiveService) private readonly live: LiveService) {}

  @Route({
    at: 'GET events',
    id: 'streamEvents',
    summary: 'All your events as server-sent events; Last-Event-ID goes on without gap or repeat.',
    scope: 'read',
    query: eventsQuerySchema,
    answers: { 200: eventDocumentSchema },
    produces: EVENT_STREAM,
    errors: ['exhausted'],
  })
  all(
    @FromCaller() caller: Caller,
    @Headers('last-event-id') header: string | undefined,
    @Asked() query: { last_event_id?: string },
    @Res() response: Response,
  ): Promise<void> {
    return this.live.all(caller, header ?? query.last_event_id, response);
  }

  @Route({
    at: 'GET sessions/:ref/events',
    id: 'streamSessionEvents',
    summary: 'Events of one session as server-sent events; ids are its versions.',
    scope: 'read',
    query: eventsQuerySchema,
    answers: { 200: eventDocumentSchema },
    produces: EVENT_STREAM,
    errors: ['not_found', 'exhausted'],
  })
  session(
    @FromCaller() caller: Caller,
    @Param('ref', { schema: sessionRefSchema }) ref: string,
    @Headers('last-event-id') header: string | undefined,
    @Asked() query: { last_event_id?: string },
    @Res() response: Response,
  ): Promise<void> {
    return this.live.session(caller, ref, header ?? query.last_event_id, response);
  }
}
