import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';

export const redeliverCommand = defineCommand({
  path: ['webhook', 'redeliver'],
  summary: 'Send a dead delivery again, under the same id',
  args: {
    name: { help: 'webhook' },
    delivery: { help: 'its id: hangar webhook get NAME --state dead' },
  },
  flags: {},
  changes: true,
  examples: ['hangar webhook redeliver pager dlv-0a0b0c0d11112222'],
  json: 'the delivery: {id, type, state, attempts, ...}',
  routes: ['POST /api/webhooks/{name}/redeliver'],
  async run({ args, client, output }) {
    const delivery = await client.webhooks.redeliver(args.name, args.delivery);
    output.result(delivery, () => {
      output.line(delivery.id);
      output.note(`hangar webhook get ${args.name} shows what becomes of it`);
    });
    return EXIT.ok;
  },
});
