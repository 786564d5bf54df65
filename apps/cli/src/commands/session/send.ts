import { MESSAGE_MODES, type MessageReceipt, type SessionDocument } from '@hangar/contracts';
import { defineCommand, type RunOptions } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { turnSettled } from '../../wait/goal.ts';
import { WAIT_SECONDS_DEFAULT } from '../../wait/wait-seconds.ts';
import { readMessage } from '../read-text.ts';
import { createActivityPrinter } from './activity-text.ts';
import { newestPlace, printUntil } from './follow-activity.ts';
import { SESSION_ARGUMENT, turnText } from './session-text.ts';
import { reach, requireNothingAsked, settle } from './settle.ts';

export const sendCommand = defineCommand({
  path: ['session', 'send'],
  summary: 'Send a message to the agent',
  description:
    'Answers at once: the message waits in the session, which resumes by itself when it is ' +
    'suspended. While a turn runs it joins that where the harness can (it steers), else it waits ' +
    'for the next. With --wait it ends when the turn and its checkpoint are done, and prints what ' +
    'the agent said last; a turn that failed or was interrupted makes the exit code 1, one that ' +
    'waits on your answer 2. --follow waits too, and prints what the agent does meanwhile.',
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
      help:
        'while a turn runs: auto, steer (join it, also before messages that wait), queue (wait ' +
        'for its end), interrupt (stop it, keep its work)',
      choices: MESSAGE_MODES,
    },
    follow: {
      kind: 'switch',
      help: 'print what the agent does, until the turn is over',
      short: 'f',
    },
  },
  waits: true,
  changes: true,
  examples: [
    'hangar session send csv-fix "now add a test for empty files"',
    'hangar session send csv-fix --follow "and one for files of one line"',
    'hangar session send csv-fix --wait=600 - < review.md',
  ],
  json:
    '{message_id, status, mode, becomes, turn?}; with --wait the session;\n' +
    '  with --follow items of activity, one a line',
  routes: ['POST /api/sessions/{ref}/send', 'GET /api/sessions/{ref}'],
  async run(options) {
    const { args, flags, client, output, terminal, waitSeconds } = options;
    const message = await readMessage(terminal, args.message);
    if (message === null)
      throw refused('There is no message.', 'Give it as an argument or on stdin.');
    const mode = MESSAGE_MODES.find((each) => each === flags.mode) ?? 'auto';
    const waits = waitSeconds !== null || flags.follow;
    const before = waits ? await client.sessions.get(args.session) : null;
    const after = before && flags.follow ? await newestPlace(options, before) : null;
    const receipt = await client.sessions.send(args.session, { message, mode });
    if (!before) {
      output.result(receipt, () => output.line(receiptLine(output.isTty, receipt)));
      return EXIT.ok;
    }
    const session = await client.sessions.get(args.session);
    requireNothingAsked(session, terminal.now());
    const wait = {
      goal: turnSettled({ messageId: receipt.message_id }),
      fromVersion: before.version,
    };
    if (after === null) return settle(options, session, wait);
    return followTurn(options, session, { ...wait, after });
  },
});

async function followTurn(
  options: Pick<RunOptions, 'client' | 'output' | 'terminal' | 'waitSeconds'>,
  session: SessionDocument,
  { after, ...wait }: Parameters<typeof reach>[2] & { after: string },
): Promise<number> {
  const { output, terminal, waitSeconds } = options;
  const printer = createActivityPrinter(output, terminal);
  const noteLine = (word: string, text: string): void => {
    printer.pause();
    output.noteLine(word, text);
  };
  const waiting = {
    ...options,
    output: { ...output, noteLine },
    waitSeconds: waitSeconds ?? WAIT_SECONDS_DEFAULT,
  };
  const shown = { sessionId: session.id, after, turn: null };
  const { session: now, verdict } = await printUntil(
    options,
    printer,
    shown,
    reach(waiting, session, wait),
  );
  const turn = now.turns.find(({ number }) => number === verdict.turn);
  if (turn) output.note(`${now.name}: ${turnText(turn)}`);
  return EXIT.ok;
}

const BECOMES = {
  turn: 'starts a turn',
  steer: 'steers the running turn',
  queue: 'waits for its turn',
  resume: 'waits: the session starts its sandbox first',
} as const;

/** For a person what becomes of it; for a pipe id, status, turn and that word. */
function receiptLine(isTty: boolean, receipt: MessageReceipt): string {
  const { message_id, status, turn, becomes } = receipt;
  if (!isTty) return [message_id, status, turn ?? '', becomes ?? ''].join('\t');
  const number = turn === undefined ? '' : ` (turn ${turn})`;
  return `message ${message_id} ${becomes ? BECOMES[becomes] : `is ${status}`}${number}`;
}
