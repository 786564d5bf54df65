import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { YES_FLAG, confirm } from '../confirm.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const deleteCommand = defineCommand({
  path: ['session', 'delete'],
  summary: 'Remove a session with its checkpoints and sandbox',
  description: 'The audit trail keeps who deleted what and when.',
  args: SESSION_ARGUMENT,
  flags: {
    force: { kind: 'switch', help: 'also while a turn runs: its work is lost' },
    ...YES_FLAG,
  },
  changes: true,
  examples: ['hangar session delete csv-fix', 'hangar session delete csv-fix --yes'],
  json: '{deleted: the id or name that was given}',
  routes: ['DELETE /api/sessions/{ref}'],
  async run({ args, flags, client, output, terminal }) {
    const question = `Delete ${args.session}? Its work and conversation are gone for good.`;
    await confirm(terminal, flags.yes, question);
    await client.sessions.delete(args.session, { force: flags.force });
    output.result({ deleted: args.session }, () =>
      output.line(output.isTty ? `${args.session} is deleted` : args.session),
    );
    return EXIT.ok;
  },
});
