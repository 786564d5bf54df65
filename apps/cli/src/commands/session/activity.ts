import type { HangarClient } from '@hangar/client';
import type { SessionDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { Interrupted } from '../../terminal.ts';
import { turnEnded } from '../../wait/goal.ts';
import { createActivityPrinter } from './activity-text.ts';
import { beforeTurn, printComing, printKept, printUntil } from './follow-activity.ts';
import { SESSION_ARGUMENT, TURN_FLAG } from './session-text.ts';

export const activityCommand = defineCommand({
  path: ['session', 'activity'],
  summary: 'Show what the agent did: messages, commands, files, cost',
  description:
    'The same form for every harness, oldest first. --follow stays and prints what comes, at a ' +
    'screen also the text that is being written, across restarts of the server, until Ctrl-C; ' +
    'with --turn until that turn is over.',
  args: SESSION_ARGUMENT,
  flags: {
    follow: { kind: 'switch', help: 'stay and print what comes', short: 'f' },
    ...TURN_FLAG,
  },
  examples: [
    'hangar session activity csv-fix --follow',
    'hangar session activity csv-fix --turn 3 --json | jq -r .type',
  ],
  json: 'one item a line: {cursor, turn, at, type, ...}',
  routes: [
    'GET /api/sessions/{ref}/activity',
    'GET /api/sessions/{ref}/activity/live',
    'GET /api/sessions/{ref}',
  ],
  async run(options) {
    const { args, flags, client, output, terminal } = options;
    const session = await client.sessions.get(args.session);
    const turn = flags.turn ?? null;
    const printer = createActivityPrinter(output, terminal);
    const shown = { sessionId: session.id, after: beforeTurn(turn ?? 1), turn };
    const isOver = session.turns.some(({ number, outcome }) => number === turn && outcome !== null);
    try {
      if (!flags.follow || isOver) await printKept(options, printer, shown);
      else if (turn === null) await printComing(options, printer, shown);
      else await printUntil(options, printer, shown, turnOver(client, session, turn));
    } catch (error) {
      printer.pause();
      // Ctrl-C is how following ends: nothing failed, and nothing is left undone.
      if (!(error instanceof Interrupted)) throw error;
    }
    return EXIT.ok;
  },
});

async function turnOver(
  client: HangarClient,
  { id, version }: SessionDocument,
  turn: number,
): Promise<void> {
  const goal = turnEnded(turn);
  for await (const event of client.events.session(id, { lastEventId: String(version) })) {
    if (goal.see(event)) return;
  }
}
