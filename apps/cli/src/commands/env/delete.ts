import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { YES_FLAG, confirm } from '../confirm.ts';

export const deleteCommand = defineCommand({
  path: ['env', 'delete'],
  summary: 'Remove an environment',
  args: { name: { help: 'environment' } },
  flags: YES_FLAG,
  changes: true,
  examples: ['hangar env delete web --yes'],
  json: '{deleted: name}',
  routes: ['DELETE /api/environments/{name}'],
  async run({ args, flags, client, output, terminal }) {
    await confirm(terminal, flags.yes, `Delete the environment ${args.name}?`);
    await client.environments.delete(args.name);
    output.result({ deleted: args.name }, () =>
      output.line(output.isTty ? `environment ${args.name} is deleted` : args.name),
    );
    return EXIT.ok;
  },
});
