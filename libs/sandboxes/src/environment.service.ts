import { HangarError, recipeSchema, type EnvironmentEvent, type Recipe } from '@hangar/contracts';
import {
  createAggregate,
  createCommandServer,
  type AggregateHandler,
  type CommandServer,
  type EventMeta,
  type EventStore,
  type Json,
} from '@hangar/messaging';
import type { NatsConnection } from '@nats-io/nats-core';
import type pg from 'pg';
import {
  decide,
  environmentId,
  evolve,
  type EnvironmentCommand,
  type EnvironmentState,
} from './environment.ts';

export type Environments = AggregateHandler<EnvironmentState, EnvironmentCommand>;

export function createEnvironments(pool: pg.Pool, store: EventStore): Environments {
  return createAggregate<EnvironmentState, EnvironmentEvent, EnvironmentCommand>({
    aggregate: 'environment',
    pool,
    store,
    foldVersion: 1,
    initial: null,
    evolve,
    decide,
  });
}

/** The recipe that a sandbox is made from; one that was deleted still serves the sessions it has. */
export async function loadRecipe(
  environments: Environments,
  owner: string,
  name: string,
): Promise<{ version: number; recipe: Recipe }> {
  const { state } = await environments.load(environmentId(owner, name));
  if (!state)
    throw new HangarError('not_found', `there is no environment called ${name}`, {
      hint: 'define it with hangar env apply, then open the session again',
    });
  return { version: state.version, recipe: recipeSchema.parse(JSON.parse(state.recipe_json)) };
}

export function createEnvironmentController(options: {
  nats: NatsConnection;
  environments: Environments;
  onError(error: unknown): void;
}): CommandServer {
  const { nats, environments, onError } = options;
  const handle =
    (type: EnvironmentCommand['type']) =>
    async (json: Json): Promise<Json> => {
      const { data, meta } = json as unknown as {
        data: { owner: string; name: string };
        meta: EventMeta;
      };
      const id = environmentId(data.owner, data.name);
      const command = { type, data } as EnvironmentCommand;
      const { version, events } = await environments.execute(id, command, { meta });
      return { version, events };
    };
  return createCommandServer({
    nats,
    aggregate: 'environment',
    onError,
    handlers: {
      DefineEnvironment: handle('DefineEnvironment'),
      DeleteEnvironment: handle('DeleteEnvironment'),
    },
  });
}
