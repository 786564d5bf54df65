import { openSync, closeSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { SOCKET_NAME, type SandboxdConfig } from '../wire/protocol.ts';
import { CredentialDesk } from './credential-desk.ts';
import { listen } from './server.ts';
import { Runs } from './runs.ts';
import { Terminals } from './terminals.ts';
import { shortenSocketDirectory } from '../wire/socket-path.ts';

/**
 * The one process of hangar inside a sandbox. Its parent, a shell that is PID 1 there, starts it
 * again when it was killed; runs go on meanwhile and are taken over from their directories.
 * It has the agent's own uid, so it guards nothing: whoever reads its answers must not trust them.
 */
const main = async (configPath: string): Promise<void> => {
  // An agent's `pkill node` must not mean this process.
  process.title = 'hangar-sandboxd';
  const config = JSON.parse(await readFile(configPath, 'utf8')) as SandboxdConfig;
  const runs = new Runs(config);
  await runs.adoptAll();
  const terminals = new Terminals(config);
  // Listening under another name first makes the socket appear ready, or not at all.
  const starting = `${SOCKET_NAME}.new`;
  const { directory, release } = shortenSocketDirectory(config.socketDirectory);
  await rm(`${directory}/${starting}`, { force: true });
  const desk = new CredentialDesk(config.socketDirectory);
  await listen(`${directory}/${starting}`, { config, runs, terminals, desk });
  await rename(`${directory}/${starting}`, `${directory}/${SOCKET_NAME}`);
  release();
  forgetStartLog();
};

/** The log of the start is a file outside; the agent must not be able to fill it through here. */
const forgetStartLog = (): void => {
  for (const fd of [1, 2]) {
    closeSync(fd);
    openSync('/dev/null', 'w');
  }
};

process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exit(1);
});
const configPath = process.argv[2];
if (configPath === undefined) throw new Error('usage: sandboxd <config.json>');
await main(configPath);
