import { DELIVERY_STATES, type DeliveryDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import { harmless, type Tone } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

export const getCommand = defineCommand({
  path: ['webhook', 'get'],
  summary: 'Show a webhook and what became of its newest deliveries',
  description: 'In a pipe the deliveries are all that is printed.',
  args: { name: { help: 'webhook' } },
  flags: {
    state: {
      kind: 'text',
      value: 'STATE',
      help: 'only deliveries in this state',
      choices: DELIVERY_STATES,
    },
  },
  examples: ['hangar webhook get pager', 'hangar webhook get pager --state dead'],
  json: '{name, url, events, state, disabled_at, created_at, deliveries: [{id, type, state, ...}]}',
  routes: ['GET /api/webhooks/{name}'],
  async run({ args, flags, client, output, terminal }) {
    const state = DELIVERY_STATES.find((one) => one === flags.state);
    const webhook = await client.webhooks.get(args.name, state === undefined ? {} : { state });
    const now = terminal.now();
    output.result(webhook, () => {
      if (output.isTty) {
        const { disabled_at } = webhook;
        output.fields([
          ['name', webhook.name],
          ['url', webhook.url],
          ['events', webhook.events.join(', ')],
          ['state', webhook.state],
          ['disabled', disabled_at && `${agoText(disabled_at, now)}: its receiver answered 410`],
          ['created', agoText(webhook.created_at, now)],
        ]);
        output.line('');
      }
      output.table(columns(now), webhook.deliveries, 'No deliveries.');
    });
    return EXIT.ok;
  },
});

const TONES: Record<DeliveryDocument['state'], Tone> = {
  waiting: 'busy',
  delivered: 'good',
  dead: 'bad',
};

const columns = (now: Date): Column<DeliveryDocument>[] => [
  { title: 'DELIVERY', show: (d) => d.id, tone: () => 'strong' },
  { title: 'TYPE', show: (d) => d.type },
  { title: 'STATE', show: (d) => d.state, tone: (d) => TONES[d.state] },
  { title: 'TRIES', show: (d) => String(d.attempts) },
  {
    title: 'NEXT',
    show: (d) => (d.next_at === null ? '' : agoText(d.next_at, now)),
    value: (d) => d.next_at ?? '',
  },
  {
    title: 'LAST',
    show: (d) => harmless(d.last_error ?? String(d.last_status ?? '')),
    shrinks: true,
  },
  { title: 'CREATED', show: (d) => agoText(d.created_at, now), value: (d) => d.created_at },
];
