import type { TokenDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';

export const listCommand = defineCommand({
  path: ['token', 'list'],
  summary: 'List tokens; values are never shown',
  args: {},
  flags: {},
  examples: ['hangar token list'],
  json: '{items: [{id, owner, scopes, label, created_at}]}',
  routes: ['GET /api/tokens'],
  async run({ client, output, terminal }) {
    const list = await client.tokens.list();
    output.result(list, () => output.table(columns(terminal.now()), list.items, 'No tokens.'));
    return EXIT.ok;
  },
});

const columns = (now: Date): Column<TokenDocument>[] => [
  { title: 'ID', show: (t) => t.id, tone: () => 'strong' },
  { title: 'OWNER', show: (t) => t.owner },
  { title: 'SCOPES', show: (t) => t.scopes.join(',') },
  { title: 'LABEL', show: (t) => t.label, shrinks: true },
  { title: 'CREATED', show: (t) => agoText(t.created_at, now), value: (t) => t.created_at },
];
