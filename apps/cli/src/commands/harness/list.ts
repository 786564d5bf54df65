import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Column } from '../../output/table.ts';

export const listCommand = defineCommand({
  path: ['harness', 'list'],
  summary: 'List the agent CLIs that environments and sessions name',
  args: {},
  flags: {},
  examples: ['hangar harness list'],
  json: '{items: [{name, environments: names of those that allow it}]}',
  routes: ['GET /api/environments'],
  async run({ client, output }) {
    const { items: environments } = await client.environments.list();
    const items = harnessesOf(environments);
    output.result({ items }, () =>
      output.table(COLUMNS, items, 'No environment names a harness: all that are installed may be used.'),
    );
    return EXIT.ok;
  },
});
