import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';

const VERSION_MAX = 999_999_999;

export const replayCommand = defineCommand({
  path: ['audit', 'replay'],
  summary: 'Show a session as it was at any event',
  args: { session: { help: 'id (ses-1a2b3c4d) or name' } },
  flags: {
    version: {
      kind: 'count',
      value: 'N',
      help: 'after this event of the session (hangar session events); the newest when left out',
      min: 1,
      max: VERSION_MAX,
    },
  },
  examples: ['hangar audit replay csv-fix --version 12'],
  json: 'the session; printed also without --json',
  routes: ['GET /api/audit/replay'],
  async run({ args, flags, client, output }) {
    const session = await client.audit.replay({ session: args.session, version: flags.version });
    output.result(session, () => output.line(JSON.stringify(session, null, 2)));
    return EXIT.ok;
  },
});
