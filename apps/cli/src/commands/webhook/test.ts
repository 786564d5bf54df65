import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';

export const testCommand = defineCommand({
  path: ['webhook', 'test'],
  summary: 'Send a test event',
  args: { name: { help: 'webhook' } },
  flags: {},
  changes: true,
  examples: ['hangar webhook test pager'],
  json: 'the delivery: {id, type, state, attempts, ...}',
  routes: ['POST /api/webhooks/{name}/test'],
  async run({ args, client, output }) {
    const delivery = await client.webhooks.test(args.name);
    output.result(delivery, () => {
      output.line(delivery.id);
      output.note(`hangar webhook get ${args.name} shows what became of it`);
    });
    return EXIT.ok;
  },
});
