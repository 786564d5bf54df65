import { defineCommand } from '../../command.ts';
import { turnSettled } from '../../wait/goal.ts';
import { SESSION_ARGUMENT } from './session-text.ts';
import { settle, versionBefore } from './settle.ts';

export const retryCommand = defineCommand({
  path: ['session', 'retry'],
  summary: 'Send the message of an interrupted turn again',
  args: SESSION_ARGUMENT,
  flags: {},
  waits: true,
  changes: true,
  examples: ['hangar session retry csv-fix --wait'],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/retry'],
  async run(options) {
    const { args, client } = options;
    const fromVersion = await versionBefore(options, args.session);
    const session = await client.sessions.retry(args.session);
    return settle(options, session, { goal: turnSettled({ queuedAs: 'retry' }), fromVersion });
  },
});
