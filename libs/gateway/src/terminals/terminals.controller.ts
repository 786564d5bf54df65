import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  attachTerminalQuerySchema,
  HangarError,
  openTerminalSchema,
  sessionRefSchema,
  terminalFrameSchema,
  terminalIdSchema,
  terminalListSchema,
  terminalSchema,
  type OpenTerminal,
  type TerminalDocument,
} from '@hangar/contracts';
import { FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { FromCreation, type Creation } from '../idempotency/idempotency.ts';
import { ATTACH_SCOPE } from './terminal-upgrade.ts';
import { TerminalsService } from './terminals.service.ts';

const REF = { schema: sessionRefSchema };
const ID = { schema: terminalIdSchema };

@ApiTags('terminals')
@Controller('api/sessions/:ref/terminals')
export class TerminalsController {
  constructor(@Inject(TerminalsService) private readonly terminals: TerminalsService) {}

  @Route({
    at: 'POST',
    id: 'openTerminal',
    summary: 'A shell in the sandbox, or the agent itself between its turns. Needs a live sandbox.',
    scope: 'write',
    creates: true,
    answers: { 201: terminalSchema },
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  open(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @FromCreation() creation: Creation,
    @Body({ schema: openTerminalSchema }) body: OpenTerminal,
  ): Promise<TerminalDocument> {
    return this.terminals.open(caller, ref, creation, body);
  }

  @Route({
    at: 'GET',
    id: 'listTerminals',
    summary: 'Terminals of its sandbox, oldest first; none without a sandbox.',
    scope: 'read',
    answers: { 200: terminalListSchema },
    errors: ['not_found'],
  })
  list(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
  ): Promise<{ items: TerminalDocument[] }> {
    return this.terminals.list(caller, ref);
  }

  @Route({
    at: 'DELETE :id',
    id: 'closeTerminal',
    summary: 'End a terminal and all that runs in it; quiet when it is not there.',
    scope: 'write',
    answers: { 204: null },
    errors: ['not_found'],
  })
  close(
    @FromCaller() caller: Caller,
    @Param('ref', REF) ref: string,
    @Param('id', ID) id: string,
  ): Promise<void> {
    return this.terminals.close(caller, ref, id);
  }

  /** The upgrade to a WebSocket passes by the routes; this one is for who asks without it. */
  @Route({
    at: 'GET :id/attach',
    id: 'attachTerminal',
    summary:
      'A WebSocket: what it printed from an offset on and prints from now on, and what is typed.',
    scope: ATTACH_SCOPE,
    query: attachTerminalQuerySchema,
    answers: { 101: terminalFrameSchema },
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  attach(@Param('ref', REF) _ref: string, @Param('id', ID) _id: string): never {
    throw new HangarError('invalid', 'This is a WebSocket; the request asked for none.', {
      hint: 'docs/formats/terminals.md has the frames; `hangar session attach` speaks them.',
    });
  }
}
