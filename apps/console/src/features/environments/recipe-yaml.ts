import { parse, stringify } from 'yaml';
import type { Recipe } from '@hangar/contracts';

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** What is sent is what was written. Comments alone are no document: that is a recipe without keys. */
export function recipeDocument(text: string): string {
  try {
    return parse(text) === null ? '{}' : text;
  } catch {
    // The server says what is wrong with it, and where.
    return text;
  }
}

/** A recipe as people write it: without the name, which stands beside it, and without defaults. */
export function recipeYaml(recipe: Recipe): string {
  const said = Object.entries(recipe).filter(
    ([key, value]) =>
      key !== 'name' &&
      !isEmpty(value) &&
      !(key === 'network' && value === 'open') &&
      !(key === 'retention' && value === 'git'),
  );
  return said.length === 0 ? '' : stringify(Object.fromEntries(said));
}
