import { defineCommand } from '../../command.ts';
import { suspended } from '../../wait/goal.ts';
import { YES_FLAG, confirm } from '../confirm.ts';
import { SESSION_ARGUMENT } from './session-text.ts';
import { settle, versionBefore } from './settle.ts';

export const suspendCommand = defineCommand({
  path: ['session', 'suspend'],
  summary: 'Save a session and give its sandbox back',
  description:
    'A checkpoint is taken first. When something is too large for it, the sandbox is kept and the ' +
    'session says what; --force then gives the sandbox back all the same, and that part is lost.',
  args: SESSION_ARGUMENT,
  flags: {
    force: { kind: 'switch', help: 'also when the checkpoint is incomplete: work may be lost' },
    ...YES_FLAG,
  },
  waits: true,
  changes: true,
  examples: [
    'hangar session suspend csv-fix --wait',
    'hangar session suspend csv-fix --force --yes',
  ],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/suspend'],
  async run(options) {
    const { args, flags, client, terminal } = options;
    if (flags.force) {
      const loss = 'what its checkpoint does not hold is lost.';
      await confirm(terminal, flags.yes, `Suspend ${args.session} by force? Then ${loss}`);
    }
    const fromVersion = await versionBefore(options, args.session);
    const session = await client.sessions.suspend(args.session, { force: flags.force });
    return settle(options, session, { goal: suspended(), fromVersion });
  },
});
