import { SECRET_BYTES_MAX } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import type { Terminal } from '../../terminal.ts';
import { utf8 } from '../read-text.ts';

export const setCommand = defineCommand({
  path: ['secret', 'set'],
  summary: 'Set a secret, or give it a new value',
  description:
    'The value comes from stdin or from a variable, never from the command line, which others can ' +
    'see. One line end at the end of stdin is not part of it. In a terminal it is asked for.',
  args: { name: { help: 'letters, digits and underscores, as an environment variable' } },
  flags: {
    fromEnv: { kind: 'text', value: 'VARIABLE', help: 'take the value of this variable' },
  },
  changes: true,
  examples: [
    'hangar secret set NPM_TOKEN < token.txt',
    'hangar secret set ANTHROPIC_API_KEY --from-env ANTHROPIC_API_KEY',
  ],
  json: '{name, version, updated_at}',
  routes: ['POST /api/secrets'],
  async run({ args, flags, client, output, terminal }) {
    const value = await readValue(terminal, args.name, flags.fromEnv);
    if (value === '')
      throw refused('The value is empty.', 'Use hangar secret delete to remove it.');
    const secret = await client.secrets.set({ name: args.name, value });
    output.result(secret, () => {
      if (!output.isTty) return output.line([secret.name, secret.version].join('\t'));
      output.line(`secret ${secret.name} is set (version ${secret.version})`);
    });
    return EXIT.ok;
  },
});

async function readValue(
  terminal: Terminal,
  name: string,
  variable: string | undefined,
): Promise<string> {
  if (variable !== undefined) {
    const value = terminal.env[variable];
    if (value === undefined) {
      throw refused(`The variable ${variable} is not set.`, 'Export it, or use stdin.');
    }
    return value;
  }
  if (terminal.stdin.isTty) return terminal.stdin.ask(`Value of ${name}: `, { secret: true });
  const text = utf8(await terminal.stdin.readAll(SECRET_BYTES_MAX + 2), 'The value');
  return text.replace(/\r?\n$/, '');
}
