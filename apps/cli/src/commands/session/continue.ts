import { defineCommand } from '../../command.ts';
import { decided } from '../../wait/goal.ts';
import { SESSION_ARGUMENT } from './session-text.ts';
import { settle, versionBefore } from './settle.ts';

export const continueCommand = defineCommand({
  path: ['session', 'continue'],
  summary: 'Go on without the message of an interrupted turn',
  args: SESSION_ARGUMENT,
  flags: {},
  waits: true,
  changes: true,
  examples: ['hangar session continue csv-fix'],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/continue'],
  async run(options) {
    const { args, client } = options;
    const fromVersion = await versionBefore(options, args.session);
    const session = await client.sessions.continue(args.session);
    return settle(options, session, { goal: decided(), fromVersion });
  },
});
