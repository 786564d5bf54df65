import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiConsumes, ApiTags } from '@nestjs/swagger';
import {
  environmentDocumentSchema,
  environmentNameSchema,
  pageOf,
  recipeBodySchema,
  recipeSchema,
  type EnvironmentDocument,
  type Page,
  type Recipe,
} from '@hangar/contracts';
import type { Answer } from '../auth/answer.ts';
import { FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { FromCreation, type Creation } from '../idempotency/idempotency.ts';
import { EnvironmentsService } from './environments.service.ts';

const NAME = { schema: environmentNameSchema };
const TYPES = ['application/json', 'application/yaml'];

@ApiTags('environments')
@Controller('api/environments')
export class EnvironmentsController {
  constructor(@Inject(EnvironmentsService) private readonly environments: EnvironmentsService) {}

  @Route({
    at: 'POST ',
    id: 'defineEnvironment',
    summary: 'Define an environment by its recipe; a changed recipe is a new version.',
    scope: 'write',
    creates: true,
    yaml: true,
    answers: { 200: environmentDocumentSchema, 201: environmentDocumentSchema },
    errors: ['conflict'],
  })
  @ApiConsumes(...TYPES)
  define(
    @FromCaller() caller: Caller,
    @FromCreation() creation: Creation,
    @Body({ schema: recipeSchema }) recipe: Recipe,
  ): Promise<Answer> {
    return this.environments.define(caller, creation, recipe);
  }

  @Route({
    at: 'PUT :name',
    id: 'replaceEnvironment',
    summary: 'Define an environment of this name, or change its recipe.',
    scope: 'write',
    yaml: true,
    answers: { 200: environmentDocumentSchema },
    errors: ['conflict'],
  })
  @ApiConsumes(...TYPES)
  replace(
    @FromCaller() caller: Caller,
    @Param('name', NAME) name: string,
    @Body({ schema: recipeBodySchema }) body: Omit<Recipe, 'name'> & { name?: string },
  ): Promise<EnvironmentDocument> {
    return this.environments.replace(caller, name, body);
  }

  @Route({
    at: 'GET ',
    id: 'listEnvironments',
    summary: 'Your environments, by name.',
    scope: 'read',
    answers: { 200: pageOf(environmentDocumentSchema) },
  })
  list(@FromCaller() caller: Caller): Promise<Page<EnvironmentDocument>> {
    return this.environments.list(caller);
  }

  @Route({
    at: 'GET :name',
    id: 'getEnvironment',
    summary: 'An environment with its recipe.',
    scope: 'read',
    answers: { 200: environmentDocumentSchema },
    errors: ['not_found'],
  })
  get(
    @FromCaller() caller: Caller,
    @Param('name', NAME) name: string,
  ): Promise<EnvironmentDocument> {
    return this.environments.get(caller, name);
  }

  @Route({
    at: 'DELETE :name',
    id: 'deleteEnvironment',
    summary: 'Delete an environment; sessions that have it go on with its last recipe.',
    scope: 'write',
    answers: { 204: null },
    errors: ['not_found'],
  })
  delete(@FromCaller() caller: Caller, @Param('name', NAME) name: string): Promise<void> {
    return this.environments.delete(caller, name);
  }
}
