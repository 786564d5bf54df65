import type { WebhookDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';

export const listCommand = defineCommand({
  path: ['webhook', 'list'],
  summary: 'List your webhooks',
  args: {},
  flags: {},
  examples: ['hangar webhook list'],
  json: '{items: [{name, url, events, state, disabled_at, created_at}]}',
  routes: ['GET /api/webhooks'],
  async run({ client, output, terminal }) {
    const list = await client.webhooks.list();
    output.result(list, () => output.table(columns(terminal.now()), list.items, 'No webhooks.'));
    return EXIT.ok;
  },
});

const columns = (now: Date): Column<WebhookDocument>[] => [
  { title: 'NAME', show: (w) => w.name, tone: () => 'strong' },
  { title: 'STATE', show: (w) => w.state, tone: (w) => (w.state === 'active' ? 'good' : 'bad') },
  { title: 'EVENTS', show: (w) => w.events.join(',') },
  { title: 'URL', show: (w) => w.url ?? '(its vault key is missing)', shrinks: true },
  { title: 'CREATED', show: (w) => agoText(w.created_at, now), value: (w) => w.created_at },
];
