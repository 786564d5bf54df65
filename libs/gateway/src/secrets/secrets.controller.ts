import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  secretDocumentSchema,
  secretListSchema,
  secretNameSchema,
  setSecretSchema,
  type SecretDocument,
  type SetSecret,
} from '@hangar/contracts';
import { FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { FromCreation, type Creation } from '../idempotency/idempotency.ts';
import { SecretsService } from './secrets.service.ts';

@ApiTags('secrets')
@Controller('api/secrets')
export class SecretsController {
  constructor(@Inject(SecretsService) private readonly secrets: SecretsService) {}

  @Route({
    at: 'POST ',
    id: 'setSecret',
    summary: 'Set or replace a secret; its value never comes back.',
    scope: 'write',
    creates: true,
    answers: { 201: secretDocumentSchema },
    errors: ['conflict', 'exhausted'],
  })
  set(
    @FromCaller() caller: Caller,
    @FromCreation() creation: Creation,
    @Body({ schema: setSecretSchema }) body: SetSecret,
  ): Promise<SecretDocument> {
    return this.secrets.set(caller, creation, body);
  }

  @Route({
    at: 'GET ',
    id: 'listSecrets',
    summary: 'Names and versions of your secrets, never values.',
    scope: 'read',
    answers: { 200: secretListSchema },
  })
  list(@FromCaller() caller: Caller): Promise<{ items: SecretDocument[] }> {
    return this.secrets.list(caller);
  }

  @Route({
    at: 'DELETE :name',
    id: 'deleteSecret',
    summary: 'Delete a secret.',
    scope: 'write',
    answers: { 204: null },
    errors: ['not_found'],
  })
  delete(
    @FromCaller() caller: Caller,
    @Param('name', { schema: secretNameSchema }) name: string,
  ): Promise<void> {
    return this.secrets.delete(caller, name);
  }
}
