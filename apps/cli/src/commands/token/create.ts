import { SCOPES, type Scope } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';

export const createCommand = defineCommand({
  path: ['token', 'create'],
  summary: 'Make a token; its value is shown this once',
  description: 'In a pipe the value is all that is printed.',
  args: {},
  flags: {
    owner: { kind: 'text', value: 'NAME', help: 'whose sessions it reaches', required: true },
    scopes: { kind: 'text', value: 'LIST', help: 'of read, write, admin, by commas (read,write)' },
    label: { kind: 'text', value: 'TEXT', help: 'what it is for' },
  },
  changes: true,
  examples: [
    'hangar token create --owner sean --label laptop',
    'hangar token create --owner ci --scopes read > ci.token',
  ],
  json: '{id, owner, scopes, label, created_at, token}',
  routes: ['POST /api/tokens'],
  async run({ flags, client, output }) {
    const scopes = (flags.scopes ?? 'read,write').split(',').map((text) => scopeOf(text.trim()));
    const created = await client.tokens.create({
      owner: flags.owner,
      scopes,
      ...(flags.label === undefined ? {} : { label: flags.label }),
    });
    output.result(created, () => {
      output.line(created.token);
      if (output.isTty) {
        output.note(`${created.id} of ${created.owner}: keep it now, it is not shown again`);
      }
    });
    return EXIT.ok;
  },
});

function scopeOf(text: string): Scope {
  const scope = SCOPES.find((each) => each === text);
  if (scope) return scope;
  throw refused(`"${text}" is not a scope.`, `Use ${SCOPES.join(', ')}, apart by commas.`);
}
