import type { QueuedMessageDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const queueCommand = defineCommand({
  path: ['session', 'queue'],
  summary: 'List the messages that the agent does not have yet',
  description:
    'In the order of delivery. One that "steers" was offered to the running turn; each can be ' +
    'taken back until the agent has it.',
  args: SESSION_ARGUMENT,
  flags: {},
  examples: ['hangar session queue csv-fix'],
  json: '{items: [queued message]}',
  routes: ['GET /api/sessions/{ref}'],
  async run({ args, client, output, terminal }) {
    const { queue } = await client.sessions.get(args.session);
    output.result({ items: queue }, () =>
      output.table(columns(terminal.now()), queue, 'No message waits.'),
    );
    return EXIT.ok;
  },
});

/** What a message in the queue does meanwhile. */
export const waitText = ({ is_steering }: QueuedMessageDocument): string =>
  is_steering ? 'steers' : 'waits';

const columns = (now: Date): Column<QueuedMessageDocument>[] => [
  { title: 'MESSAGE', show: (m) => m.message_id, tone: () => 'strong' },
  { title: 'MODE', show: (m) => m.mode },
  { title: 'NOW', show: waitText },
  { title: 'SENT', show: (m) => agoText(m.queued_at, now), value: (m) => m.queued_at },
  { title: 'TEXT', show: (m) => m.text, shrinks: true },
];
