import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { YES_FLAG, confirm } from '../confirm.ts';

export const revokeCommand = defineCommand({
  path: ['token', 'revoke'],
  summary: 'End a token: it opens nothing from now on',
  args: { token: { help: 'token id (tok-...)' } },
  flags: YES_FLAG,
  changes: true,
  examples: ['hangar token revoke tok-1a2b3c4d --yes'],
  json: '{revoked: token id}',
  routes: ['DELETE /api/tokens/{id}'],
  async run({ args, flags, client, output, terminal }) {
    await confirm(terminal, flags.yes, `Revoke ${args.token}? Whoever uses it is locked out.`);
    await client.tokens.revoke(args.token);
    output.result({ revoked: args.token }, () =>
      output.line(output.isTty ? `token ${args.token} is revoked` : args.token),
    );
    return EXIT.ok;
  },
});
