import type { EnvironmentDocument } from '@hangar/contracts';
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
      output.table(
        COLUMNS,
        items,
        'No environment names a harness: all that are installed may be used.',
      ),
    );
    return EXIT.ok;
  },
});

interface HarnessRow {
  name: string;
  environments: string[];
}

/** The server has no list of its own to ask for: what environments allow is what there is to see. */
export function harnessesOf(environments: readonly EnvironmentDocument[]): HarnessRow[] {
  const rows = new Map<string, string[]>();
  for (const { name, recipe } of environments) {
    for (const harness of recipe.harnesses ?? []) {
      rows.set(harness, [...(rows.get(harness) ?? []), name]);
    }
  }
  return [...rows]
    .map(([name, names]) => ({ name, environments: names }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

const COLUMNS: Column<HarnessRow>[] = [
  { title: 'HARNESS', show: (row) => row.name, tone: () => 'strong' },
  { title: 'ENVIRONMENTS', show: (row) => row.environments.join(', '), shrinks: true },
];
