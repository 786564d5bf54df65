import { Controller, Headers, Inject, Param, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  activityItemSchema,
  activityPageSchema,
  activityQuerySchema,
  decisionPageSchema,
  decisionsQuerySchema,
  eventsQuerySchema,
  sessionRefSchema,
  type ActivityItem,
  type ActivityQuery,
  type DecisionDocument,
  type DecisionsQuery,
  type Page,
} from '@hangar/contracts';
import type { Response } from 'express';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { ActivityService } from './activity.service.ts';

const REF = { schema: sessionRefSchema };

@ApiTags('activity')
@Controller('api/sessions/:ref')
export class ActivityController {
  constructor(@Inject(ActivityService) private readonly activity: ActivityService) {}

  @Route({
    at: 'GET activity',
    id: 'listActivity',
    summary: 'What the agent did: messages, tool calls, files, cost; the same for every harness.',
    scope: 'read',
    query: activityQuerySchema,
    answers: { 200: activityPageSchema },
    errors: ['not_found'],
  })
  list(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Asked() query: ActivityQuery,
  ): Promise<Page<ActivityItem>> {
    return this.activity.list(caller, ref, query);
  }

  @Route({
    at: 'GET activity/live',
    id: 'streamActivity',
    summary:
      'Activity as server-sent events; Last-Event-ID goes on without gap or repeat. Events called delta are text that is being written: they have no id and are not repeated.',
    scope: 'read',
    query: eventsQuerySchema,
    answers: { 200: activityItemSchema },
    produces: 'text/event-stream',
    errors: ['not_found', 'exhausted'],
  })
  live(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Headers('last-event-id') header: string | undefined,
    @Asked() query: { last_event_id?: string },
    @Res() response: Response,
  ): Promise<void> {
    return this.activity.follow(caller, ref, header ?? query.last_event_id, response);
  }

  @Route({
    at: 'GET decisions',
    id: 'listDecisions',
    summary: 'Each tool call of its turns, allowed or denied, and by what.',
    scope: 'read',
    query: decisionsQuerySchema,
    answers: { 200: decisionPageSchema },
    errors: ['not_found'],
  })
  decisions(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Asked() query: DecisionsQuery,
  ): Promise<Page<DecisionDocument>> {
    return this.activity.decisions(caller, ref, query);
  }
}
