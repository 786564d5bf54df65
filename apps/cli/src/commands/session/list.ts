import { PAGE_SIZE_DEFAULT, SESSION_STATES, type SessionStateName } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { ROWS_MAX, readPages } from '../pages.ts';
import { sessionColumns } from './session-text.ts';

export const listCommand = defineCommand({
  path: ['session', 'list'],
  summary: 'List sessions, newest first',
  args: {},
  flags: {
    state: { kind: 'text', value: 'STATE', help: 'only these', choices: SESSION_STATES },
    env: { kind: 'text', value: 'NAME', help: 'only of this environment' },
    query: {
      kind: 'text',
      value: 'TEXT',
      help: 'part of the name, title, repo or branch',
      short: 'q',
    },
    limit: { kind: 'count', value: 'N', help: 'at most so many (50)', min: 1, max: ROWS_MAX },
  },
  examples: ['hangar session list', 'hangar session list --state SUSPENDED --json'],
  json: '{items: [session summary], next_cursor}',
  routes: ['GET /api/sessions'],
  async run({ flags, client, output, terminal }) {
    const filter = {
      state: flags.state as SessionStateName | undefined,
      environment: flags.env,
      q: flags.query,
    };
    const rowsMax = flags.limit ?? PAGE_SIZE_DEFAULT;
    const page = await readPages(rowsMax, (limit, cursor) =>
      client.sessions.list({ ...filter, limit, cursor }),
    );
    output.result(page, () => {
      output.table(
        sessionColumns(terminal.now()),
        page.items,
        'No sessions. Start one with hangar session new.',
      );
      if (page.next_cursor !== null) {
        output.note(`${page.items.length} shown; --limit shows more.`);
      }
    });
    return EXIT.ok;
  },
});
