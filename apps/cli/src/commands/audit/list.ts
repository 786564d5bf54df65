import { PAGE_SIZE_DEFAULT, type EventDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';
import { ROWS_MAX, readPages } from '../pages.ts';
import { AUDIT_FLAGS, filterOf } from './audit-flags.ts';

export const listCommand = defineCommand({
  path: ['audit', 'list'],
  summary: 'List what happened: who did what, when, and why',
  args: {},
  flags: {
    ...AUDIT_FLAGS,
    limit: { kind: 'count', value: 'N', help: 'at most so many (50)', min: 1, max: ROWS_MAX },
  },
  examples: [
    'hangar audit list --session csv-fix',
    'hangar audit list --type SessionDeleted --json',
  ],
  json: '{items: [event], next_cursor}',
  routes: ['GET /api/audit'],
  async run({ flags, client, output, terminal }) {
    const page = await readPages(flags.limit ?? PAGE_SIZE_DEFAULT, (limit, cursor) =>
      client.audit.list({ ...filterOf(flags), limit, cursor }),
    );
    output.result(page, () => {
      output.table(columns(terminal.now()), page.items, 'Nothing in the log fits that.');
      if (page.next_cursor !== null) output.note(`${page.items.length} shown; --limit shows more.`);
    });
    return EXIT.ok;
  },
});

const columns = (now: Date): Column<EventDocument>[] => [
  { title: 'WHEN', show: (e) => agoText(e.at, now), value: (e) => e.at },
  { title: 'EVENT', show: (e) => e.type, tone: () => 'strong' },
  { title: 'STREAM', show: (e) => e.stream },
  { title: 'VERSION', show: (e) => String(e.version) },
  { title: 'ACTOR', show: (e) => e.actor },
  { title: 'CORRELATION', show: (e) => e.correlation, shrinks: true },
];
