import type { SecretDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';

export const listCommand = defineCommand({
  path: ['secret', 'list'],
  summary: 'List the names of secrets; values are never shown',
  args: {},
  flags: {},
  examples: ['hangar secret list'],
  json: '{items: [{name, version, updated_at}]}',
  routes: ['GET /api/secrets'],
  async run({ client, output, terminal }) {
    const list = await client.secrets.list();
    output.result(list, () => output.table(columns(terminal.now()), list.items, 'No secrets.'));
    return EXIT.ok;
  },
});

const columns = (now: Date): Column<SecretDocument>[] => [
  { title: 'NAME', show: (s) => s.name, tone: () => 'strong' },
  { title: 'VERSION', show: (s) => String(s.version) },
  { title: 'SET', show: (s) => agoText(s.updated_at, now), value: (s) => s.updated_at },
];
