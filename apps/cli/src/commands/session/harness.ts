import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const harnessCommand = defineCommand({
  path: ['session', 'harness'],
  summary: 'Change the harness or model of a session, from the next turn on',
  description:
    'Between turns. Another harness cannot read the conversation: it gets an account of the work ' +
    'instead, once, in a fresh sandbox; the one that is up is saved and given back. Without --model ' +
    'it chooses its own.',
  args: SESSION_ARGUMENT,
  flags: {
    harness: { kind: 'text', value: 'NAME', help: 'agent CLI (hangar harness list)' },
    model: { kind: 'text', value: 'NAME', help: 'of that harness, or of the one it has' },
  },
  changes: true,
  examples: [
    'hangar session harness csv-fix --harness codex',
    'hangar session harness csv-fix --model opus',
  ],
  json: 'the session',
  routes: ['PUT /api/sessions/{ref}/harness'],
  async run({ args, flags, client, output }) {
    const { harness, model } = flags;
    if (harness === undefined && model === undefined)
      throw refused('There is nothing to change.', 'Give --harness, --model, or both.');
    const session = await client.sessions.changeHarness(args.session, {
      ...(harness === undefined ? {} : { harness }),
      ...(model === undefined ? {} : { model }),
    });
    output.result(session, () => {
      const { id, name } = session;
      if (!output.isTty)
        return output.line([id, name, session.harness, session.model ?? ''].join('\t'));
      const what = session.model === null ? 'its own model' : session.model;
      output.line(`${name} (${id}) runs ${session.harness} with ${what} from the next turn on`);
    });
    return EXIT.ok;
  },
});
