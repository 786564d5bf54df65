import { HangarError, type EnvironmentEvent } from '@hangar/contracts';

/** A named recipe; each change is a version. */
export type EnvironmentState = {
  owner: string;
  name: string;
  version: number;
  recipe_json: string;
  deleted: boolean;
} | null;

export interface EnvironmentCommands {
  DefineEnvironment: { owner: string; name: string; recipe_json: string };
  DeleteEnvironment: { owner: string; name: string };
}

export type EnvironmentCommand = {
  [K in keyof EnvironmentCommands]: { type: K; data: EnvironmentCommands[K] };
}[keyof EnvironmentCommands];

/** Owners and names have no `_`, so the pair is one id that cannot be another pair's. */
export const environmentId = (owner: string, name: string): string => `${owner}_${name}`;

export function evolve(state: EnvironmentState, event: EnvironmentEvent): EnvironmentState {
  switch (event.type) {
    case 'EnvironmentDefined':
      return { ...event.data, deleted: false };
    case 'EnvironmentDeleted':
      return state && { ...state, deleted: true };
  }
}

/** The same recipe again keeps its version; a deleted one that is defined anew goes on counting. */
export function decide(state: EnvironmentState, command: EnvironmentCommand): EnvironmentEvent[] {
  const { owner, name } = command.data;
  switch (command.type) {
    case 'DefineEnvironment': {
      const { recipe_json } = command.data;
      if (state && !state.deleted && state.recipe_json === recipe_json) return [];
      const version = (state?.version ?? 0) + 1;
      return [{ type: 'EnvironmentDefined', data: { owner, name, version, recipe_json } }];
    }
    case 'DeleteEnvironment':
      if (!state || state.deleted)
        throw new HangarError('not_found', `you have no environment called ${name}`, {
          hint: 'hangar env list shows those you have',
        });
      return [{ type: 'EnvironmentDeleted', data: { owner, name } }];
  }
}
