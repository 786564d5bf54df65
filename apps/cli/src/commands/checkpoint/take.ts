import { defineCommand } from '../../command.ts';
import { checkpointSettled } from '../../wait/goal.ts';
import { SESSION_ARGUMENT } from '../session/session-text.ts';
import { settle, versionBefore } from '../session/settle.ts';

export const takeCommand = defineCommand({
  path: ['checkpoint', 'take'],
  summary: 'Save a session now',
  args: SESSION_ARGUMENT,
  flags: {},
  waits: true,
  changes: true,
  examples: ['hangar checkpoint take csv-fix --wait'],
  json: 'the session; its newest checkpoint is the last of checkpoints',
  routes: ['POST /api/sessions/{ref}/checkpoints'],
  async run(options) {
    const { args, client } = options;
    const fromVersion = await versionBefore(options, args.session);
    const session = await client.checkpoints.take(args.session);
    return settle(options, session, { goal: checkpointSettled(), fromVersion });
  },
});
