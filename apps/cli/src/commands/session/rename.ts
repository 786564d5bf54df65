import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { SESSION_ARGUMENT, sayState } from './session-text.ts';

export const renameCommand = defineCommand({
  path: ['session', 'rename'],
  summary: 'Change the name or title; branch, paths and id stay',
  args: { ...SESSION_ARGUMENT, name: { help: 'the new name', optional: true } },
  flags: { title: { kind: 'text', value: 'TEXT', help: 'the new title' } },
  changes: true,
  examples: [
    'hangar session rename csv-fix csv-export',
    'hangar session rename csv-fix --title "CSV export"',
  ],
  json: 'the session',
  routes: ['POST /api/sessions/{ref}/rename'],
  async run({ args, flags, client, output }) {
    if (args.name === undefined && flags.title === undefined) {
      throw refused('There is nothing to change.', 'Give a new name, --title, or both.');
    }
    const session = await client.sessions.rename(args.session, {
      ...(args.name === undefined ? {} : { name: args.name }),
      ...(flags.title === undefined ? {} : { title: flags.title }),
    });
    output.result(session, () => sayState(output, session));
    return EXIT.ok;
  },
});
