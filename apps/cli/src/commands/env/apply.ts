import { BODY_BYTES_MAX } from '@hangar/contracts';
import { parseDocument } from 'yaml';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { readTextFile } from '../read-text.ts';

export const applyCommand = defineCommand({
  path: ['env', 'apply'],
  summary: 'Create or change an environment from a recipe',
  description:
    'The recipe is YAML or JSON. The same recipe again changes nothing; a changed one makes a new ' +
    'version, which sandboxes made from then on use.',
  args: { name: { help: "the recipe's own when left out", optional: true } },
  flags: {
    file: {
      kind: 'text',
      value: 'FILE',
      help: 'the recipe; - is stdin',
      short: 'f',
      required: true,
    },
  },
  changes: true,
  examples: ['hangar env apply -f web.yaml', 'hangar env apply web -f - < web.yaml'],
  json: '{name, owner, version, recipe, created_at, updated_at}',
  routes: ['PUT /api/environments/{name}'],
  async run({ args, flags, client, output, terminal }) {
    const recipe = await readTextFile(terminal, flags.file, BODY_BYTES_MAX);
    const name = args.name ?? nameInRecipe(recipe);
    if (name === null) {
      throw refused(
        'The recipe has no name.',
        'Add a line "name: ..." or give the name before -f.',
      );
    }
    const environment = await client.environments.applyYaml(name, recipe);
    output.result(environment, () => {
      const { version } = environment;
      if (!output.isTty) return output.line([environment.name, version].join('\t'));
      output.line(`environment ${environment.name} is at version ${version}`);
    });
    return EXIT.ok;
  },
});

/**
 * The top-level `name` of YAML or JSON text: enough to know where to send it. The server reads
 * the recipe in full and refuses one whose name is another.
 */
export function nameInRecipe(text: string): string | null {
  const name = parseDocument(text).get('name');
  return typeof name === 'string' ? name : null;
}
