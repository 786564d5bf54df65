import { SCOPES } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';

export const createCommand = defineCommand({
  path: ['token', 'create'],
  summary: 'Make a token; its value is shown this once',
  description: 'In a pipe the value is all that is printed.',
  args: { name: { help: 'what it is for, e.g. laptop' } },
  flags: {
    scope: {
      kind: 'text',
      value: 'SCOPE',
      help: 'read, write (which may read), or admin (which may all)',
      choices: SCOPES,
      required: true,
    },
    owner: { kind: 'text', value: 'NAME', help: 'whose sessions it reaches; yours when left out' },
    expires: {
      kind: 'text',
      value: 'TIME',
      help: 'ends by itself then, e.g. 2027-01-31T00:00:00Z',
    },
  },
  changes: true,
  examples: [
    'hangar token create laptop --scope write --owner sean',
    'hangar token create dashboard --scope read > dashboard.token',
  ],
  json: '{id, owner, name, scope, created_at, expires_at, revoked_at, token}',
  routes: ['POST /api/tokens'],
  async run({ args, flags, client, output }) {
    const created = await client.tokens.create({
      name: args.name,
      scope: SCOPES.find((scope) => scope === flags.scope) ?? 'read',
      ...(flags.owner === undefined ? {} : { owner: flags.owner }),
      ...(flags.expires === undefined ? {} : { expires_at: flags.expires }),
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
