import type { AnswerCardInput, CardDocument, SessionDocument } from '@hangar/contracts';
import { defineCommand, type Listed, type RunOptions } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { turnSettled } from '../../wait/goal.ts';
import { readMessage } from '../read-text.ts';
import { askPerson } from './ask-person.ts';
import { cardColumns, isAsk, isCardId, onlyCard, openAsks, showCard } from './cards.ts';
import { SESSION_ARGUMENT } from './session-text.ts';
import { requireNothingAsked, settle } from './settle.ts';

export const answerCommand = defineCommand({
  path: ['session', 'answer'],
  summary: 'Answer what the agent asked',
  description:
    'CARD may be left out when one waits; - as TEXT reads stdin. Without an answer it asks you at a ' +
    'screen when one card waits, else it prints what waits. The first answer counts: a late one ' +
    'ends with 1 and says what was decided.',
  args: {
    ...SESSION_ARGUMENT,
    card: { help: 'card id (card-1a2b3c4d)', optional: true },
    text: { help: 'a choice or your own words', optional: true, variadic: true },
  },
  flags: {
    answer: { kind: 'list', value: 'ID=TEXT', help: 'to one question of several; repeatable' },
    deny: { kind: 'switch', help: 'leave it without an answer, or refuse the tool call' },
    reason: { kind: 'text', value: 'TEXT', help: 'what the agent is told with --deny' },
  },
  waits: true,
  changes: true,
  examples: [
    'hangar session answer csv-fix',
    'hangar session answer csv-fix "keep the header"',
    'hangar session answer csv-fix card-1a2b3c4d --answer colour=red --answer size=large',
    'hangar session answer csv-fix --deny --reason "not before the release"',
  ],
  json: 'the session; without an answer {items: [card]}, what waits',
  routes: ['POST /api/sessions/{ref}/cards/{card_id}/answer', 'GET /api/sessions/{ref}'],
  async run(options) {
    const { args, flags, client, terminal } = options;
    // Without a card the first word is the answer's.
    const named = isCardId(args.card) ? args.card : undefined;
    const words =
      named === undefined && args.card !== undefined ? [args.card, ...args.text] : args.text;
    const text = words.length > 0 ? await readMessage(terminal, words) : null;
    const given = bodyOf(text, flags);
    const session = await client.sessions.get(args.session);
    const asks = openAsks(session).filter(({ id }) => named === undefined || id === named);
    if (given) {
      const card = named === undefined ? onlyCard(asks, session) : asks[0];
      if (card) requireFit(card, given);
      return send(options, session, {
        id: card?.id ?? named ?? '',
        turn: card?.turn ?? null,
        given,
      });
    }
    const [card, ...others] = asks;
    if (!card || others.length > 0 || !canAsk(options)) return showWaiting(options, session, named);
    const answer = await askPerson(options, card);
    return send(options, session, { id: card.id, turn: card.turn, given: answer });
  },
});

type Run = Pick<RunOptions, 'client' | 'output' | 'terminal' | 'waitSeconds'>;

/** Sends the answer and says what became of the session. */
export async function send(
  options: Run,
  session: SessionDocument,
  { id, turn, given }: { id: string; turn: number | null; given: AnswerCardInput },
): Promise<number> {
  const after = await options.client.sessions.answer(session.id, id, given);
  // Another card of the same turn may be open still.
  if (options.waitSeconds !== null) requireNothingAsked(after, options.terminal.now());
  const goal = turnSettled({ asking: turn ?? session.turns.at(-1)?.number ?? 0 });
  return settle(options, after, { goal, fromVersion: session.version });
}

const canAsk = ({ output, terminal }: Run): boolean =>
  !output.json && output.isTty && terminal.stdin.isTty && terminal.stderr.isTty;

interface AnswerFlags {
  answer: Listed[];
  deny: boolean;
  reason: string | undefined;
}

/** null when nothing was given. */
function bodyOf(text: string | null, flags: AnswerFlags): AnswerCardInput | null {
  const ways = [text !== null, flags.answer.length > 0, flags.deny].filter(Boolean).length;
  if (ways > 1)
    throw refused('That is more than one answer.', 'Give TEXT, --answer or --deny, one of them.');
  if (flags.reason !== undefined && !flags.deny)
    throw refused('A reason goes with a refusal.', 'Add --deny.');
  if (flags.deny) return { verdict: 'deny', reason: flags.reason ?? '' };
  if (text !== null) return { text };
  if (flags.answer.length === 0) return null;
  const answers: Record<string, string> = {};
  for (const { text: typed } of flags.answer) {
    const at = typed.indexOf('=');
    if (at < 1) throw refused(`${typed} is not ID=TEXT.`, 'Write --answer ID=TEXT.');
    answers[typed.slice(0, at)] = typed.slice(at + 1);
  }
  return { answers };
}

function requireFit({ questions }: CardDocument, { text }: AnswerCardInput): void {
  if (text === undefined || questions.length < 2) return;
  const each = questions.map(({ id }) => `--answer ${id}=TEXT`).join(' ');
  throw refused(`The card has ${questions.length} questions.`, `Answer each: ${each}.`);
}

function showWaiting(
  { output, terminal }: Run,
  session: SessionDocument,
  named: string | undefined,
): number {
  const items = session.attention.filter(
    (card) => (isAsk(card) && named === undefined) || card.id === named,
  );
  output.result({ items }, () => {
    if (!output.isTty) return output.table(cardColumns(terminal.now()), items, '');
    if (items.length === 0) output.note(`Nothing waits on you in ${session.name}.`);
    for (const card of items) showCard(output, card, session.name);
  });
  return EXIT.ok;
}
