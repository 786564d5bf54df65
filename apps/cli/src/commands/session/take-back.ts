import type { MessageReceipt } from '@hangar/contracts';
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
    const { status } = receipt;
    output.result(receipt, () => {
      if (!output.isTty) return output.line([args.message, receipt.status].join('\t'));
      output.line(`message ${args.message} ${textOf(status, args.session)}`);
    });
    if (status === 'taken_back') return EXIT.ok;
    return status === 'queued' ? EXIT.stopped : EXIT.failed;
  },
});

function textOf(status: MessageReceipt['status'], session: string): string {
  switch (status) {
    case 'taken_back':
      return 'is taken back';
    case 'queued':
      return `is asked back; hangar session queue ${session} shows whether the agent has it`;
    case 'failed':
      return 'has failed: it is not known whether the agent had it';
    case 'delivered':
      return "is the agent's already";
  }
}
