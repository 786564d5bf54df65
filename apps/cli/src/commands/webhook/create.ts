import { WEBHOOK_EVENTS, type WebhookEvent } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';

export const createCommand = defineCommand({
  path: ['webhook', 'create'],
  summary: 'Have cards posted to a URL; the signing secret is shown this once',
  description: 'In a pipe the secret is all that is printed.',
  args: { name: { help: 'e.g. pager' }, url: { help: 'where it is posted to' } },
  flags: {
    events: {
      kind: 'text',
      value: 'LIST',
      help: `of ${WEBHOOK_EVENTS.join(', ')}, with commas between; attention when left out`,
    },
  },
  changes: true,
  examples: [
    'hangar webhook create pager https://hooks.example.com/hangar',
    'hangar webhook create ci https://ci.example.com/h --events turn.finished,session.failed',
  ],
  json: '{name, url, events, state, disabled_at, created_at, secret}',
  routes: ['POST /api/webhooks'],
  async run({ args, flags, client, output }) {
    const created = await client.webhooks.create({
      name: args.name,
      url: args.url,
      ...(flags.events === undefined ? {} : { events: eventsOf(flags.events) }),
    });
    output.result(created, () => {
      output.line(created.secret);
      if (output.isTty) {
        output.note(`signs what ${created.name} gets: keep it now, it is not shown again`);
      }
    });
    return EXIT.ok;
  },
});

const eventsOf = (list: string): WebhookEvent[] =>
  list.split(',').map((word) => {
    const known = WEBHOOK_EVENTS.find((event) => event === word.trim());
    if (known) return known;
    throw refused(`There is no event ${word}.`, `Use some of: ${WEBHOOK_EVENTS.join(', ')}.`);
  });
