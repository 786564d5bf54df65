import { HangarError } from '@hangar/contracts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { VERSION } from '../version.ts';

export const versionCommand = defineCommand({
  path: ['version'],
  summary: 'Print the version of this command and of the server it speaks to',
  args: {},
  flags: {},
  examples: ['hangar version'],
  json: '{client, server_api: version or null, url}',
  routes: ['GET /api/openapi.json'],
  async run({ client, connection, output }) {
    const server = await client.server.report().then(
      ({ apiVersion }) => apiVersion,
      (error: unknown) => {
        // No server is an answer here: the version of the command is known all the same.
        output.note(HangarError.from(error).message);
        return null;
      },
    );
    output.result({ client: VERSION, server_api: server, url: connection.url }, () => {
      output.fields([
        ['client', VERSION],
        ['server API', server],
        ['url', connection.url],
      ]);
    });
    return EXIT.ok;
  },
});
