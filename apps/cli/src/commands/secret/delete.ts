import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { YES_FLAG, confirm } from '../confirm.ts';

export const deleteCommand = defineCommand({
  path: ['secret', 'delete'],
  summary: 'Remove a secret',
  args: { name: { help: 'secret' } },
  flags: YES_FLAG,
  changes: true,
  examples: ['hangar secret delete NPM_TOKEN --yes'],
  json: '{deleted: name}',
  routes: ['DELETE /api/secrets/{name}'],
  async run({ args, flags, client, output, terminal }) {
    const question = `Delete the secret ${args.name}? Its value cannot be read back.`;
    await confirm(terminal, flags.yes, question);
    await client.secrets.delete(args.name);
    output.result({ deleted: args.name }, () =>
      output.line(output.isTty ? `secret ${args.name} is deleted` : args.name),
    );
    return EXIT.ok;
  },
});
