import { PAGE_SIZE_DEFAULT, type DecisionDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Column } from '../../output/table.ts';
import { ROWS_MAX, readPages } from '../pages.ts';
import { SESSION_ARGUMENT, TURN_FLAG } from './session-text.ts';
import { toolText } from './tool-text.ts';

export const decisionsCommand = defineCommand({
  path: ['session', 'decisions'],
  summary: 'List the tool calls of its turns, allowed or denied',
  args: SESSION_ARGUMENT,
  flags: {
    ...TURN_FLAG,
    limit: { kind: 'count', value: 'N', help: 'at most so many (50)', min: 1, max: ROWS_MAX },
  },
  examples: [
    'hangar session decisions csv-fix',
    'hangar session decisions csv-fix --turn 3 --json',
  ],
  json: '{items: [decision], next_cursor}',
  routes: ['GET /api/sessions/{ref}/decisions'],
  async run({ args, flags, client, output }) {
    const page = await readPages(flags.limit ?? PAGE_SIZE_DEFAULT, (limit, cursor) =>
      client.decisions.list(args.session, { turn: flags.turn, limit, cursor }),
    );
    output.result(page, () => {
      output.table(COLUMNS, page.items, 'No tool calls yet.');
      if (page.next_cursor !== null) output.note(`${page.items.length} shown; --limit shows more.`);
    });
    return EXIT.ok;
  },
});

const COLUMNS: Column<DecisionDocument>[] = [
  { title: 'TURN', show: (d) => String(d.turn) },
  {
    title: 'VERDICT',
    show: (d) => d.verdict,
    tone: (d) => (d.verdict === 'allow' ? 'good' : 'bad'),
  },
  { title: 'BY', show: (d) => d.decided_by },
  { title: 'TOOL', show: (d) => d.tool, tone: () => 'strong' },
  { title: 'CALL', show: (d) => toolText(d.tool, d.input), value: (d) => d.input, shrinks: true },
  { title: 'REASON', show: (d) => d.reason, shrinks: true },
  { title: 'DECIDED', show: (d) => d.decided_at.slice(11, 19), value: (d) => d.decided_at },
];
