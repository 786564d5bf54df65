import { describe, expect, it } from '@jest/globals';
import { recipeSchema } from '@hangar/contracts';
import { parse } from 'yaml';
import { recipeDocument, recipeYaml } from './recipe-yaml.ts';

describe('a recipe as people write it [X1]', () => {
  it('leaves out what is so by itself', () => {
    expect(recipeYaml(recipeSchema.parse({ name: 'a' }))).toBe('');
  });

  it('means the same when it is read again', () => {
    const recipe = recipeSchema.parse({
      name: 'a',
      setup: ['npm ci', 'echo "a: b" # c'],
      env: { CI: '1', TEXT: 'two\nlines' },
      network: 'none',
      idle_minutes: 0,
      git: [{ host: 'github.com', secret: 'GIT_TOKEN' }],
    });
    expect(recipeSchema.parse({ ...(parse(recipeYaml(recipe)) as object), name: 'a' })).toEqual(
      recipe,
    );
  });

  it('is sent as it was written, lines of a script with a # as well', () => {
    const recipe = recipeSchema.parse({
      name: 'a',
      setup: ['set -e\n# install\nnpm ci'],
      env: { TEXT: 'a\n#b\nc' },
    });
    const sent = recipeDocument(recipeYaml(recipe));
    expect(recipeSchema.parse({ ...(parse(sent) as object), name: 'a' })).toEqual(recipe);
  });

  it.each(['', '  ', '# only a comment\n'])('is one without keys where it says %j', (text) => {
    expect(recipeDocument(text)).toBe('{}');
  });

  it('goes to the server as it is where it is no YAML', () => {
    expect(recipeDocument('a: [')).toBe('a: [');
  });
});
