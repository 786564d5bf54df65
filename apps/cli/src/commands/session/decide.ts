import { defineCommand } from '../../command.ts';
import { refused } from '../../failure.ts';
import { send } from './answer.ts';
import { isCardId, onlyCard, openAsks } from './cards.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

const VERDICTS = ['allow', 'deny'] as const;

export const decideCommand = defineCommand({
  path: ['session', 'decide'],
  summary: 'Allow or deny a tool call that wants leave',
  description: 'CARD may be left out when one waits. VERDICT is allow or deny.',
  args: {
    ...SESSION_ARGUMENT,
    card: { help: 'card id (card-1a2b3c4d)', optional: true },
    verdict: { help: 'allow or deny', optional: true },
  },
  flags: { reason: { kind: 'text', value: 'TEXT', help: 'what the agent is told with deny' } },
  waits: true,
  changes: true,
  examples: [
    'hangar session decide csv-fix allow',
    'hangar session decide csv-fix card-1a2b3c4d deny --reason "use the staging host"',
  ],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/cards/{card_id}/answer', 'GET /api/sessions/{ref}'],
  async run(options) {
    const { args, flags, client } = options;
    // Without a card the verdict is the first word.
    const [named, word] = isCardId(args.card) ? [args.card, args.verdict] : [undefined, args.card];
    const verdict = VERDICTS.find((each) => each === word);
    if (verdict === undefined || (named === undefined && args.verdict !== undefined))
      throw refused('That is no decision.', 'Say allow or deny, a card id in front of it.');
    if (verdict === 'allow' && flags.reason !== undefined)
      throw refused('A reason goes with deny.', 'Leave it out, or deny.');
    const session = await client.sessions.get(args.session);
    const asks = openAsks(session).filter(({ id }) => named === undefined || id === named);
    const decisions = asks.filter(({ kind }) => kind === 'decision');
    if (named !== undefined && asks.length > decisions.length)
      throw refused(`${named} is a question.`, 'Use hangar session answer.');
    const card = named === undefined ? onlyCard(decisions, session) : decisions[0];
    const given = { verdict, reason: flags.reason ?? '' };
    return send(options, session, { id: card?.id ?? named ?? '', turn: card?.turn ?? null, given });
  },
});
