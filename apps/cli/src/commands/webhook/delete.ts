import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { YES_FLAG, confirm } from '../confirm.ts';

export const deleteCommand = defineCommand({
  path: ['webhook', 'delete'],
  summary: 'Remove a webhook, and what was still to be sent to it',
  args: { name: { help: 'webhook' } },
  flags: YES_FLAG,
  changes: true,
  examples: ['hangar webhook delete pager --yes'],
  json: '{deleted: name}',
  routes: ['DELETE /api/webhooks/{name}'],
  async run({ args, flags, client, output, terminal }) {
    const question = `Delete the webhook ${args.name}? A new one has another secret.`;
    await confirm(terminal, flags.yes, question);
    await client.webhooks.delete(args.name);
    output.result({ deleted: args.name }, () =>
      output.line(output.isTty ? `webhook ${args.name} is deleted` : args.name),
    );
    return EXIT.ok;
  },
});
