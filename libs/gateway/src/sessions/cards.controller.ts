import { Controller, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  pageQuerySchema,
  sessionCardPageSchema,
  type Page,
  type PageQuery,
  type SessionCard,
} from '@hangar/contracts';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { SessionsService } from './sessions.service.ts';

@ApiTags('sessions')
@Controller('api/cards')
export class CardsController {
  constructor(@Inject(SessionsService) private readonly sessions: SessionsService) {}

  @Route({
    at: 'GET ',
    id: 'listCards',
    summary: 'What waits on you in any of your sessions, longest first.',
    scope: 'read',
    query: pageQuerySchema,
    answers: { 200: sessionCardPageSchema },
  })
  list(@FromCaller() caller: Caller, @Asked() query: PageQuery): Promise<Page<SessionCard>> {
    return this.sessions.cards(caller, query);
  }
}
