import type { HarnessDocument, Recipe } from '@hangar/contracts';

/** The agents that an environment names; all that the server tells of when it names none. */
export const harnessesFor = (
  recipe: Recipe | undefined,
  harnesses: HarnessDocument[],
): readonly string[] => recipe?.harnesses ?? harnesses.map(({ name }) => name);
