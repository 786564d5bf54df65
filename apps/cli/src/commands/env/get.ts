import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';

export const getCommand = defineCommand({
  path: ['env', 'get'],
  summary: 'Show an environment; prints a recipe that env apply takes',
  args: { name: { help: 'environment' } },
  flags: {},
  examples: ['hangar env get web', 'hangar env get web > web.json'],
  json: '{name, owner, version, recipe, created_at, updated_at}',
  routes: ['GET /api/environments/{name}'],
  async run({ args, client, output }) {
    const environment = await client.environments.get(args.name);
    output.result(environment, () => {
      output.line(JSON.stringify(environment.recipe, null, 2));
      if (output.isTty) output.note(`version ${environment.version}`);
    });
    return EXIT.ok;
  },
});
