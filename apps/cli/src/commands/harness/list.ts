import type { HarnessDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Column } from '../../output/table.ts';
import { kebab } from '../../names.ts';

export const listCommand = defineCommand({
  path: ['harness', 'list'],
  summary: 'List the agent CLIs that sessions can run, and what each can',
  description: 'hangar env list shows which of them an environment allows.',
  args: {},
  flags: {},
  examples: ['hangar harness list'],
  json: '{items: [{name, version, verified, capabilities: {steer: true, ...}}]}',
  routes: ['GET /api/harnesses'],
  async run({ client, output }) {
    const list = await client.harnesses.list();
    output.result(list, () => output.table(COLUMNS, list.items, 'No harness is installed.'));
    return EXIT.ok;
  },
});

/** In the words of the glossary; one that is not here is told by its own name. */
const WORDS: Record<string, string> = {
  choosesId: 'chosen id',
  withdraw: 'take back',
  approvals: 'decisions',
};

const words = ({ capabilities }: HarnessDocument, can: boolean): string =>
  Object.entries(capabilities)
    .filter(([, value]) => value === can)
    .map(([name]) => WORDS[name] ?? kebab(name).replaceAll('-', ' '))
    .join(', ');

const COLUMNS: Column<HarnessDocument>[] = [
  { title: 'HARNESS', show: (row) => row.name, tone: () => 'strong' },
  {
    title: 'VERSION',
    show: ({ version, verified }) => `${version ?? ''}${verified ? '' : ' (not verified)'}`,
  },
  { title: 'CAN', show: (row) => words(row, true), shrinks: true },
  { title: 'CANNOT', show: (row) => words(row, false), shrinks: true },
];
