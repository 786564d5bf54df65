import type { LimitsDocument } from '@hangar/contracts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import type { Column } from '../output/table.ts';

export const limitsCommand = defineCommand({
  path: ['limits'],
  summary: 'Show every bound that is in force, before anything starts',
  args: {},
  flags: {
    env: { kind: 'text', value: 'NAME', help: 'as in this environment' },
    harness: { kind: 'text', value: 'NAME', help: 'as with this harness' },
  },
  examples: ['hangar limits', 'hangar limits --env web --json'],
  json: '{environment, harness, limits: [{name, value, unit, default, source, changed_by, does}]}',
  routes: ['GET /api/limits'],
  async run({ flags, client, output }) {
    const limits = await client.limits.get({ environment: flags.env, harness: flags.harness });
    output.result(limits, () => output.table(COLUMNS, limits.limits, 'No limits.'));
    return EXIT.ok;
  },
});

type Limit = LimitsDocument['limits'][number];

const amount = (limit: Limit): string => (limit.value === null ? 'none' : String(limit.value));

const COLUMNS: Column<Limit>[] = [
  { title: 'LIMIT', show: (limit) => limit.name, tone: () => 'strong' },
  { title: 'VALUE', show: amount },
  { title: 'UNIT', show: (limit) => limit.unit },
  { title: 'FROM', show: (limit) => limit.source },
  { title: 'CHANGED BY', show: (limit) => limit.changed_by ?? '', shrinks: true },
  { title: 'WHAT IT DOES', show: (limit) => limit.does, shrinks: true },
];
