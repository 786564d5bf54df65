import { defineCommand } from '../../command.ts';
import { sessionUp, turnEnded } from '../../wait/goal.ts';
import { SESSION_ARGUMENT, sayState } from './session-text.ts';
import { settle, versionBefore } from './settle.ts';

export const interruptCommand = defineCommand({
  path: ['session', 'interrupt'],
  summary: 'Stop the running turn; its work is kept and saved',
  args: SESSION_ARGUMENT,
  flags: {},
  waits: true,
  changes: true,
  examples: ['hangar session interrupt csv-fix --wait'],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/interrupt'],
  async run(options) {
    const { args, client, output } = options;
    const fromVersion = await versionBefore(options, args.session);
    const session = await client.sessions.interrupt(args.session);
    const running = session.turns.findLast((turn) => turn.outcome === null) ?? session.turns.at(-1);
    const goal = running ? turnEnded(running.number) : sessionUp();
    if (options.waitSeconds === null) {
      output.result(session, () => sayState(output, session));
      return 0;
    }
    return settle(options, session, { goal, fromVersion });
  },
});
