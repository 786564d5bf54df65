import type { TerminalDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const terminalsCommand = defineCommand({
  path: ['session', 'terminals'],
  summary: 'List the terminals in the sandbox of a session, or close one',
  description:
    'A terminal goes on when nobody is attached to it, and ends with its process or its sandbox.',
  args: SESSION_ARGUMENT,
  flags: {
    close: { kind: 'text', value: 'ID', help: 'end this one and all that runs in it' },
  },
  changes: true,
  examples: [
    'hangar session terminals csv-fix',
    'hangar session terminals csv-fix --close trm-1a2b3c4d',
  ],
  json: '{items: [terminal]}',
  routes: ['GET /api/sessions/{ref}/terminals', 'DELETE /api/sessions/{ref}/terminals/{id}'],
  async run({ args, flags, client, output, terminal }) {
    if (flags.close !== undefined) await client.terminals.close(args.session, flags.close);
    const terminals = await client.terminals.list(args.session);
    output.result(terminals, () =>
      output.table(columns(terminal.now()), terminals.items, 'No terminal is open.'),
    );
    return EXIT.ok;
  },
});

const stateText = ({ state, exit_code }: TerminalDocument): string =>
  exit_code === null ? state : `${state} (${exit_code})`;

const columns = (now: Date): Column<TerminalDocument>[] => [
  { title: 'ID', show: (t) => t.id, tone: () => 'strong' },
  { title: 'KIND', show: (t) => t.kind },
  { title: 'STATE', show: stateText },
  { title: 'SIZE', show: (t) => `${t.cols}x${t.rows}` },
  { title: 'VIEWERS', show: (t) => String(t.viewers) },
  { title: 'OPENED', show: (t) => agoText(t.created_at, now), value: (t) => t.created_at },
];
