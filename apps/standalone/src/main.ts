import 'reflect-metadata';
import { relative } from 'node:path';
import { HangarError } from '@hangar/contracts';
import { closeOnSignal, readConfig } from '@hangar/service-kit';
import { TOKEN_FILE } from './local-keys.ts';
import { putToRest } from './rest.ts';
import { startStack } from './stack.ts';

// Nest's logger is one a process; the services are told apart by what they say.
process.env['OTEL_SERVICE_NAME'] ??= 'hangar';

/** Saving idle sessions takes most of it. */
const CLOSE_MILLIS_MAX = 60_000;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

try {
  const config = readConfig(process.env);
  const stack = await startStack(config, process.env);
  for (const warning of stack.warnings) say(`\n  !! ${warning}`);
  const state = relative(process.cwd(), config.state) || config.state;
  say(`
  hangar is up   ${stack.url}
  console        ${stack.url}/#token=${stack.adminToken}
  admin token    ${stack.adminToken}   (also in ${state}/${TOKEN_FILE})
  state          ${state}/

  next: in another terminal, with a repository and an API key of your own
    ./hangar env apply -f - <<< 'name: default'
    ./hangar session new my-work --env default --harness claude-code --repo <url or path> "..." --wait

  Ctrl-C stops everything: idle sessions are saved and their sandboxes released first. Only a turn
  at work goes on in its sandbox, and is found again at the next start.
`);
  let byHand = false;
  process.once('SIGINT', () => (byHand = true));
  const rest = async (): Promise<void> => {
    if (!byHand) return;
    say('saving idle sessions (Ctrl-C again to stop at once; nothing is lost then either)');
    const { suspended, goingOn } = await putToRest(stack.config);
    if (suspended) say(`${suspended} saved and suspended`);
    if (goingOn.length) say(`at work without hangar until the next start: ${goingOn.join(', ')}`);
  };
  closeOnSignal([...stack.parts, { name: 'idle sessions', close: rest }], {
    deadlineMillis: CLOSE_MILLIS_MAX,
  });
} catch (error) {
  const failure = HangarError.from(error);
  say(`hangar did not start: ${failure.message}${failure.hint ? `\n${failure.hint}` : ''}`);
  process.exit(1);
}
