import { MESSAGE_MODES } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { turnSettled } from '../../wait/goal.ts';
import { readMessage } from '../read-text.ts';
import { SESSION_ARGUMENT } from './session-text.ts';
import { settle, versionBefore } from './settle.ts';

export const sendCommand = defineCommand({
  path: ['session', 'send'],
  summary: 'Send a message to the agent',
  description:
    'Answers at once: the message waits in the session, which resumes by itself when it is ' +
    'suspended. With --wait it ends when the turn and its checkpoint are done, and prints what ' +
    'the agent said last; a turn that failed or was interrupted makes the exit code 1.',
  args: {
    ...SESSION_ARGUMENT,
    message: {
      help: 'the text; - or nothing in a pipe reads stdin',
      optional: true,
      variadic: true,
    },
  },
  flags: {
    mode: {
      kind: 'text',
      value: 'MODE',
      help: 'while a turn runs: auto, queue (wait for its end), interrupt (stop it, keep its work)',
      choices: MESSAGE_MODES,
    },
  },
  waits: true,
  changes: true,
  examples: [
    'hangar session send csv-fix "now add a test for empty files"',
    'hangar session send csv-fix --wait=600 - < review.md',
  ],
  json: '{message_id, status, mode, turn?}; with --wait the session',
  routes: ['POST /api/sessions/{ref}/send'],
  async run(options) {
    const { args, flags, client, output, terminal, waitSeconds } = options;
    const message = await readMessage(terminal, args.message);
    if (message === null)
      throw refused('There is no message.', 'Give it as an argument or on stdin.');
    const mode = MESSAGE_MODES.find((each) => each === flags.mode) ?? 'auto';
    const fromVersion = await versionBefore(options, args.session);
    const receipt = await client.sessions.send(args.session, { message, mode });
    if (waitSeconds !== null) {
      const session = await client.sessions.get(args.session);
      const goal = turnSettled({ messageId: receipt.message_id });
      return settle(options, session, { goal, fromVersion });
    }
    output.result(receipt, () => {
      const turn = receipt.turn === undefined ? '' : ` (turn ${receipt.turn})`;
      output.line(
        output.isTty
          ? `message ${receipt.message_id} is ${receipt.status}${turn}`
          : [receipt.message_id, receipt.status, receipt.turn ?? ''].join('\t'),
      );
    });
    return EXIT.ok;
  },
});
