import type { CheckpointDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText, bytesText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';
import { SESSION_ARGUMENT } from '../session/session-text.ts';

export const listCommand = defineCommand({
  path: ['checkpoint', 'list'],
  summary: 'List the checkpoints of a session, newest last',
  args: SESSION_ARGUMENT,
  flags: {},
  examples: ['hangar checkpoint list csv-fix'],
  json: '{items: [checkpoint]}',
  routes: ['GET /api/sessions/{ref}/checkpoints'],
  async run({ args, client, output, terminal }) {
    const list = await client.checkpoints.list(args.session);
    output.result(list, () => {
      output.table(columns(terminal.now()), list.items, 'No checkpoints yet.');
      if (!output.isTty) return;
      for (const checkpoint of list.items) {
        for (const { path, reason } of checkpoint.skipped) {
          output.note(`${checkpoint.id} does not hold ${path ?? 'something'}: ${reason}`);
        }
      }
    });
    return EXIT.ok;
  },
});

const columns = (now: Date): Column<CheckpointDocument>[] => [
  { title: 'ID', show: (c) => c.id, tone: () => 'strong' },
  { title: 'REASON', show: (c) => c.reason },
  { title: 'TURN', show: (c) => String(c.turn) },
  {
    title: 'COMPLETE',
    show: (c) => (c.complete ? 'yes' : `no, ${c.skipped.length} left out`),
    value: (c) => String(c.complete),
    tone: (c) => (c.complete ? 'good' : 'warn'),
  },
  { title: 'SIZE', show: (c) => bytesText(c.bytes), value: (c) => String(c.bytes) },
  { title: 'HEAD', show: (c) => c.head?.slice(0, 12) ?? '', value: (c) => c.head ?? '' },
  { title: 'TAKEN', show: (c) => agoText(c.taken_at, now), value: (c) => c.taken_at },
];
