import {
  HangarError,
  type HarnessDocument,
  type EnvironmentDocument,
  type Page,
  type Recipe,
} from '@hangar/contracts';
import { Answer } from '../auth/answer.ts';
import type { Caller } from '../auth/caller.ts';
import type { Commands } from '../commands.ts';
import type { Creation, Idempotency } from '../idempotency/idempotency.ts';
import { named } from '../sessions/new-session.ts';
import type { GatewaySettings } from '../settings.ts';
import type { ViewWatch } from '../views/view-watch.ts';
import type { EnvironmentReader } from './environment.reader.ts';

export interface EnvironmentsParts {
  reader: EnvironmentReader;
  commands: Commands;
  watch: ViewWatch;
  idempotency: Idempotency;
  settings: GatewaySettings;
}

export class EnvironmentsService {
  readonly #parts: EnvironmentsParts;

  constructor(parts: EnvironmentsParts) {
    this.#parts = parts;
  }

  list(caller: Caller): Promise<Page<EnvironmentDocument>> {
    return this.#parts.reader.list(caller.owner);
  }

  get(caller: Caller, name: string): Promise<EnvironmentDocument> {
    return this.#parts.reader.get(caller.owner, name);
  }

  /** 201 when the name was free, 200 when the recipe is a new or the same version of one. */
  async define(caller: Caller, creation: Creation, recipe: Recipe): Promise<Answer> {
    const { status, body } = await this.#parts.idempotency.once(caller, creation, async () => {
      const before = await this.#parts.reader.find(caller.owner, recipe.name);
      const document = await this.#define(caller, recipe);
      return { status: before ? 200 : 201, body: document };
    });
    return new Answer(status, body);
  }

  /** The path names it; a name in the body has to be the same. */
  async replace(
    caller: Caller,
    name: string,
    body: Omit<Recipe, 'name'> & { name?: string | undefined },
  ): Promise<EnvironmentDocument> {
    if (body.name !== undefined && body.name !== name) {
      throw new HangarError('invalid', `The path says ${name}, the recipe says ${body.name}.`, {
        hint: 'Leave the name out of the recipe, or make them the same.',
      });
    }
    return this.#define(caller, { ...body, name });
  }

  async #define(caller: Caller, recipe: Recipe): Promise<EnvironmentDocument> {
    requireKnownHarnesses(recipe, this.#parts.settings.harnesses);
    requireLeaveToMount(recipe, caller);
    const { owner } = caller;
    const { name } = recipe;
    const data = { owner, name, recipe_json: canonicalJson(recipe) };
    await this.#command(caller, 'DefineEnvironment', name, data);
    return this.get(caller, name);
  }

  async delete(caller: Caller, name: string): Promise<void> {
    await this.get(caller, name);
    await this.#command(caller, 'DeleteEnvironment', name, { owner: caller.owner, name });
  }

  async #command(caller: Caller, command: string, name: string, data: object): Promise<void> {
    const id = `${caller.owner}/${name}`;
    await this.#parts.commands.send('environment', command, id, data, caller);
    await this.#parts.watch.caughtUp();
  }
}

/** The order of keys is no change of a recipe, so it makes no new version. */
const canonicalJson = (recipe: Recipe): string =>
  JSON.stringify(recipe, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

function requireKnownHarnesses(recipe: Recipe, known: readonly HarnessDocument[]): void {
  const names = known.map(({ name }) => name);
  const unknown = (recipe.harnesses ?? []).filter((name) => !names.includes(name));
  if (unknown.length === 0) return;
  throw new HangarError('invalid', `There is no harness ${unknown.join(', ')} here.`, {
    hint: `Use some of: ${named(names, known)}.`,
  });
}

/** A mount shows the sandbox a part of the machine that makes it: not for everybody to decide. */
function requireLeaveToMount(recipe: Recipe, caller: Caller): void {
  if (recipe.mounts.length === 0 || caller.scopes.includes('admin')) return;
  throw new HangarError('forbidden', 'A recipe with mounts needs a token with the scope admin.', {
    hint: 'A mount opens a directory of the host to the sandbox; ask an admin to define it.',
  });
}
