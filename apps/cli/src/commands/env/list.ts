import type { EnvironmentDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';

export const listCommand = defineCommand({
  path: ['env', 'list'],
  summary: 'List environments',
  args: {},
  flags: {},
  examples: ['hangar env list'],
  json: '{items: [environment]}',
  routes: ['GET /api/environments'],
  async run({ client, output, terminal }) {
    const list = await client.environments.list();
    output.result(list, () =>
      output.table(
        columns(terminal.now()),
        list.items,
        'No environments. Make one with hangar env apply -f FILE.',
      ),
    );
    return EXIT.ok;
  },
});

const columns = (now: Date): Column<EnvironmentDocument>[] => [
  { title: 'NAME', show: (e) => e.name, tone: () => 'strong' },
  { title: 'VERSION', show: (e) => String(e.version) },
  { title: 'HARNESSES', show: (e) => e.recipe.harnesses?.join(', ') ?? 'all' },
  { title: 'REPO', show: (e) => e.recipe.repo ?? '', shrinks: true },
  { title: 'CHANGED', show: (e) => agoText(e.updated_at, now), value: (e) => e.updated_at },
];
