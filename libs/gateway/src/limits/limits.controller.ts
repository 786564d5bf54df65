import { Controller, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  limitsDocumentSchema,
  limitsQuerySchema,
  type LimitsDocument,
  type LimitsQuery,
} from '@hangar/contracts';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { LimitsService } from './limits.service.ts';

@ApiTags('limits')
@Controller('api/limits')
export class LimitsController {
  constructor(@Inject(LimitsService) private readonly service: LimitsService) {}

  @Route({
    at: 'GET ',
    id: 'getLimits',
    summary: 'Every bound that is in force, with its unit and what changes it.',
    scope: 'read',
    query: limitsQuerySchema,
    answers: { 200: limitsDocumentSchema },
    errors: ['not_found'],
  })
  limits(@FromCaller() caller: Caller, @Asked() query: LimitsQuery): Promise<LimitsDocument> {
    return this.service.limits(caller, query);
  }
}
