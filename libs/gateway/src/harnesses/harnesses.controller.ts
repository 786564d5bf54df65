import { Controller, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { harnessListSchema, type HarnessDocument } from '@hangar/contracts';
import { Route } from '../auth/route.ts';
import { LimitsService } from '../limits/limits.service.ts';

@ApiTags('harnesses')
@Controller('api/harnesses')
export class HarnessesController {
  constructor(@Inject(LimitsService) private readonly limits: LimitsService) {}

  @Route({
    at: 'GET ',
    id: 'listHarnesses',
    summary: 'The agent CLIs that sessions can run, and what each can [H1].',
    scope: 'read',
    answers: { 200: harnessListSchema },
  })
  list(): { items: HarnessDocument[] } {
    return { items: this.limits.harnesses() };
  }
}
