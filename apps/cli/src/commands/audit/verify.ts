import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Column } from '../../output/table.ts';

export const verifyCommand = defineCommand({
  path: ['audit', 'verify'],
  summary: 'Check the hash chain of the log',
  description:
    'Finds rows that were changed, removed or added. The exit code is 1 when there are any.',
  args: {},
  flags: { session: { kind: 'text', value: 'SESSION', help: 'only of this one (id or name)' } },
  examples: ['hangar audit verify'],
  json: '{ok, problems: [{stream, version, problem}]}',
  routes: ['GET /api/audit/verify'],
  async run({ flags, client, output }) {
    const report = await client.audit.verify({ session: flags.session });
    output.result(report, () => {
      if (report.ok) return output.line(output.isTty ? 'The log is unharmed.' : 'ok');
      output.table(COLUMNS, report.problems, '');
      output.note('The log was tampered with: compare it with a backup or an export.');
    });
    return report.ok ? EXIT.ok : EXIT.failed;
  },
});

const COLUMNS: Column<{ stream: string; version: number; problem: string }>[] = [
  { title: 'STREAM', show: (row) => row.stream, tone: () => 'strong' },
  { title: 'VERSION', show: (row) => String(row.version) },
  { title: 'PROBLEM', show: (row) => row.problem, tone: () => 'bad' },
];
