import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { failureText } from '../../failure.ts';
import { relay } from './relay.ts';

/** The server takes bodies of a mebibyte; what is longer it refuses itself, up to here. */
const MESSAGE_CHARACTERS_MAX = 4 * 1024 * 1024;

export const mcpCommand = defineCommand({
  path: ['mcp'],
  summary: 'Serve the tools of hangar to an agent, by the Model Context Protocol over stdio',
  description:
    'Passes messages between the agent that started it and the server, at /mcp; the tools are ' +
    'those of the server. Ends with its input. An agent that speaks HTTP needs no such command.',
  args: {},
  flags: {},
  examples: [
    'hangar mcp',
    'hangar mcp --url https://hangar.example.org --token-file ~/.hangar-token',
  ],
  json: 'JSON-RPC messages, one a line, with or without --json',
  routes: ['POST /mcp'],
  async run({ client, connection, terminal }) {
    const { tokenSource, token } = connection;
    const context = { changes: false, tokenSource, hasToken: token !== undefined };
    await relay({
      lines: terminal.stdin.lines(MESSAGE_CHARACTERS_MAX),
      pass: (message, headers, options) => client.mcp.pass(message, headers, options),
      write: (text) => terminal.stdout.write(`${text}\n`),
      warn: (text) => terminal.stderr.write(`hangar mcp: ${text}\n`),
      explain: (error) => {
        const { what, next } = failureText(error, context);
        return `${what} ${next}`;
      },
    });
    return EXIT.ok;
  },
});
