import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { YES_FLAG, confirm } from '../confirm.ts';
import { SESSION_ARGUMENT, sayState } from './session-text.ts';

export const archiveCommand = defineCommand({
  path: ['session', 'archive'],
  summary: 'End a session: keep its record, drop its checkpoints',
  args: SESSION_ARGUMENT,
  flags: YES_FLAG,
  changes: true,
  examples: ['hangar session archive csv-fix', 'hangar session archive csv-fix --yes'],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/archive'],
  async run({ args, flags, client, output, terminal }) {
    const loss = 'Its checkpoints and sandbox go; turns and audit trail stay.';
    await confirm(terminal, flags.yes, `Archive ${args.session}? ${loss}`);
    const session = await client.sessions.archive(args.session);
    output.result(session, () => sayState(output, session));
    return EXIT.ok;
  },
});
