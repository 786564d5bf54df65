import type { EventDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import type { Output } from '../../output/output.ts';
import { Interrupted } from '../../terminal.ts';
import { phaseLine } from '../../wait/phase-line.ts';

export const eventsCommand = defineCommand({
  path: ['session', 'events'],
  summary: 'Print the events of a session, or of all',
  description:
    'Begins with the first event and ends with the newest; --follow stays and prints what comes, ' +
    'across restarts of the server, until Ctrl-C. Without a SESSION it follows all that you may ' +
    'see, from now on.',
  args: { session: { help: 'id or name; all when left out', optional: true } },
  flags: {
    follow: { kind: 'switch', help: 'stay and print what comes', short: 'f' },
    since: {
      kind: 'text',
      value: 'CURSOR',
      help: 'only after this one (cursor in --json); 0: the beginning',
    },
  },
  examples: [
    'hangar session events csv-fix',
    'hangar session events csv-fix --follow --json | jq -r .type',
  ],
  json: 'one event a line: {cursor, id, type, stream, version, at, actor, ..., data}',
  routes: ['GET /api/sessions/{ref}/events', 'GET /api/events'],
  async run({ args, flags, client, output, terminal }) {
    const onReconnect = (reason: string): void => output.note(`${reason}; connecting again`);
    if (args.session === undefined) {
      if (!flags.follow) throw refused('All events have no end.', 'Add --follow, or a session.');
      return printAll(output, client.events.all({ lastEventId: flags.since, onReconnect }), null);
    }
    const session = await client.sessions.get(args.session);
    const end = flags.follow ? null : session.version;
    // 0 is the beginning of a session; without it the server would start now.
    const options = { lastEventId: flags.since ?? '0', onReconnect };
    return printAll(output, client.events.session(session.id, options), end);

    async function printAll(
      out: Output,
      events: AsyncGenerator<EventDocument, never, void>,
      lastVersion: number | null,
    ): Promise<number> {
      try {
        for await (const event of events) {
          if (lastVersion !== null && event.version > lastVersion) break;
          printEvent(out, terminal.stdout.write, event);
          if (lastVersion !== null && event.version === lastVersion) break;
        }
      } catch (error) {
        // Ctrl-C is how following ends: nothing failed, and nothing is left undone.
        if (!(error instanceof Interrupted)) throw error;
      }
      return EXIT.ok;
    }
  },
});

function printEvent(output: Output, write: (text: string) => void, event: EventDocument): void {
  if (output.json) return write(`${JSON.stringify(event)}\n`);
  if (!output.isTty) {
    const { at, session_id, version, type, actor } = event;
    return output.line([at, session_id ?? '', version, type, actor].join('\t'));
  }
  const line = phaseLine(event);
  const time = output.paint('quiet', event.at.slice(11, 19));
  const text = line ? `${event.type}  ${output.paint('quiet', line.text)}` : event.type;
  output.line(`${time} ${event.session_id ?? event.stream} ${text}`);
}
