import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const takeBackCommand = defineCommand({
  path: ['session', 'take-back'],
  summary: 'Take back a message that was not delivered yet',
  args: { ...SESSION_ARGUMENT, message: { help: 'message id (msg-...)' } },
  flags: {},
  changes: true,
  examples: ['hangar session take-back csv-fix msg-1a2b3c4d'],
  json: '{message_id, status, mode}',
  routes: ['DELETE /api/sessions/{ref}/queue/{message_id}'],
  async run({ args, client, output }) {
    const receipt = await client.sessions.takeBack(args.session, args.message);
    output.result(receipt, () =>
      output.line(output.isTty ? `message ${args.message} is taken back` : args.message),
    );
    return EXIT.ok;
  },
});
