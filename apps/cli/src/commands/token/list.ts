import type { TokenDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { agoText } from '../../output/quantities.ts';
import type { Column } from '../../output/table.ts';

export const listCommand = defineCommand({
  path: ['token', 'list'],
  summary: 'List tokens, also revoked ones; values are never shown',
  args: {},
  flags: {},
  examples: ['hangar token list'],
  json: '{items: [{id, owner, name, scope, created_at, expires_at, revoked_at}]}',
  routes: ['GET /api/tokens'],
  async run({ client, output, terminal }) {
    const list = await client.tokens.list();
    output.result(list, () => output.table(columns(terminal.now()), list.items, 'No tokens.'));
    return EXIT.ok;
  },
});

const columns = (now: Date): Column<TokenDocument>[] => [
  { title: 'ID', show: (t) => t.id, tone: () => 'strong' },
  { title: 'OWNER', show: (t) => t.owner },
  { title: 'SCOPE', show: (t) => t.scope },
  { title: 'NAME', show: (t) => t.name, shrinks: true },
  {
    title: 'STATE',
    show: (t) => stateOf(t, now),
    tone: (t) => (stateOf(t, now) === 'revoked' ? 'quiet' : 'good'),
  },
  { title: 'CREATED', show: (t) => agoText(t.created_at, now), value: (t) => t.created_at },
];

function stateOf(token: TokenDocument, now: Date): string {
  if (token.revoked_at !== null) return 'revoked';
  if (token.expires_at === null) return 'good';
  return Date.parse(token.expires_at) <= now.getTime()
    ? 'expired'
    : `expires ${agoText(token.expires_at, now)}`;
}
