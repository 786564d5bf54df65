import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const takeBackCommand = defineCommand({
  path: ['session', 'take-back'],
  summary: 'Take back a message that was not delivered yet',
  description:
    'One that was offered to the running turn is asked back of the harness; while that does not ' +
    'say who has it the exit code is 2.',
  args: { ...SESSION_ARGUMENT, message: { help: 'message id (msg-...)' } },
  flags: {},
  changes: true,
  examples: ['hangar session take-back csv-fix msg-1a2b3c4d'],
  json: '{message_id, status, mode, becomes}',
  routes: ['DELETE /api/sessions/{ref}/queue/{message_id}'],
  async run({ args, client, output }) {
    const receipt = await client.sessions.takeBack(args.session, args.message);
    const isBack = receipt.status !== 'queued';
    output.result(receipt, () => {
      if (!output.isTty) return output.line([args.message, receipt.status].join('\t'));
      output.line(
        isBack
          ? `message ${args.message} is taken back`
          : `message ${args.message} is asked back; hangar session queue ${args.session} shows ` +
              'whether the agent has it',
      );
    });
    return isBack ? EXIT.ok : EXIT.stopped;
  },
});
