import { IDLE_MINUTES_MAX } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const keepCommand = defineCommand({
  path: ['session', 'keep'],
  summary: 'Change after how many idle minutes a session suspends',
  args: SESSION_ARGUMENT,
  flags: {
    idle: {
      kind: 'count',
      value: 'MINUTES',
      help: '0: stays up until you suspend it',
      min: 0,
      max: IDLE_MINUTES_MAX,
      required: true,
    },
  },
  changes: true,
  examples: ['hangar session keep csv-fix --idle 0', 'hangar session keep csv-fix --idle 240'],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/keep'],
  async run({ args, flags, client, output }) {
    const session = await client.sessions.keep(args.session, flags.idle);
    output.result(session, () => {
      const minutes = session.idle_minutes;
      if (!output.isTty) return output.line([session.id, session.name, minutes].join('\t'));
      const text =
        minutes === 0 ? 'stays up until suspended' : `suspends after ${minutes} idle minutes`;
      output.line(`${session.name} (${session.id}) ${text}`);
    });
    return EXIT.ok;
  },
});
