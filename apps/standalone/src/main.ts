import 'reflect-metadata';
import { relative } from 'node:path';
import { HangarError } from '@hangar/contracts';
import { closeOnSignal, readConfig } from '@hangar/service-kit';
import { TOKEN_FILE } from './local-keys.ts';
import { startStack } from './stack.ts';

// Nest's logger is one a process; the services are told apart by what they say.
process.env['OTEL_SERVICE_NAME'] ??= 'hangar';

const say = (text: string): void => void process.stderr.write(`${text}\n`);

try {
  const config = readConfig(process.env);
  const stack = await startStack(config, process.env);
  for (const warning of stack.warnings) say(`\n  !! ${warning}`);
  const state = relative(process.cwd(), config.state) || config.state;
  say(`
  hangar is up   ${stack.url}
  admin token    ${stack.adminToken}   (also in ${state}/${TOKEN_FILE})
  state          ${state}/

  next: in another terminal, with a repository and an API key of your own
    ./hangar env apply -f - <<< 'name: default'
    ./hangar session new my-work --env default --harness claude-code --repo <url or path> "..." --wait

  Ctrl-C stops hangar. Turns that run go on in their sandboxes; start hangar again to see them end.
`);
  closeOnSignal(stack.parts);
} catch (error) {
  const failure = HangarError.from(error);
  say(`hangar did not start: ${failure.message}${failure.hint ? `\n${failure.hint}` : ''}`);
  process.exit(1);
}
