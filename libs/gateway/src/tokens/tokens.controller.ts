import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  createdTokenSchema,
  createTokenSchema,
  tokenIdSchema,
  tokenListSchema,
  whoSchema,
  type CreatedToken,
  type CreateToken,
  type TokenDocument,
  type Who,
} from '@hangar/contracts';
import { FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { FromCreation, type Creation } from '../idempotency/idempotency.ts';
import { TokensService } from './tokens.service.ts';

@ApiTags('tokens')
@Controller('api')
export class TokensController {
  constructor(@Inject(TokensService) private readonly tokens: TokensService) {}

  @Route({
    at: 'GET who',
    id: 'who',
    summary: 'Whose token this is, and what it allows.',
    scope: 'read',
    answers: { 200: whoSchema },
  })
  who(@FromCaller() caller: Caller): Who {
    return this.tokens.who(caller);
  }

  @Route({
    at: 'POST tokens',
    id: 'createToken',
    summary: 'Make an access token; its value is shown this once.',
    scope: 'admin',
    creates: true,
    answers: { 201: createdTokenSchema },
    errors: ['conflict', 'exhausted'],
  })
  create(
    @FromCaller() caller: Caller,
    @FromCreation() creation: Creation,
    @Body({ schema: createTokenSchema }) body: CreateToken,
  ): Promise<CreatedToken> {
    return this.tokens.create(caller, creation, body);
  }

  @Route({
    at: 'GET tokens',
    id: 'listTokens',
    summary: 'The tokens of everybody, also the revoked ones; never values.',
    scope: 'admin',
    answers: { 200: tokenListSchema },
  })
  list(): Promise<{ items: TokenDocument[] }> {
    return this.tokens.list();
  }

  @Route({
    at: 'DELETE tokens/:id',
    id: 'revokeToken',
    summary: 'Revoke a token; it is refused everywhere within 5 seconds.',
    scope: 'admin',
    answers: { 204: null },
    errors: ['not_found'],
  })
  revoke(
    @FromCaller() caller: Caller,
    @Param('id', { schema: tokenIdSchema }) id: string,
  ): Promise<void> {
    return this.tokens.revoke(caller, id);
  }
}
