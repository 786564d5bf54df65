import { defineCommand } from '../../command.ts';
import { sessionUp } from '../../wait/goal.ts';
import { SESSION_ARGUMENT } from './session-text.ts';
import { settle, versionBefore } from './settle.ts';

export const openCommand = defineCommand({
  path: ['session', 'open'],
  summary: 'Start or resume the sandbox of a session',
  args: SESSION_ARGUMENT,
  flags: {},
  waits: true,
  changes: true,
  examples: ['hangar session open csv-fix --wait'],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/open'],
  async run(options) {
    const { args, client } = options;
    const fromVersion = await versionBefore(options, args.session);
    const session = await client.sessions.open(args.session);
    return settle(options, session, { goal: sessionUp(), fromVersion });
  },
});
