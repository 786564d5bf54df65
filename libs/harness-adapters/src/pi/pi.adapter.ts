/** pi (`@earendil-works/pi-coding-agent`): one `pi --mode rpc` process per turn. */
import type { HarnessAdapter, HarnessCommand, TurnSpec } from '../harness-adapter.ts';
import { modelChoice, PROVIDERS } from '../model-choice.ts';
import { modelRetries } from '../model-retries.ts';
import { shippedFile } from '../shipped-file.ts';
import { harnessProgram } from '../versions.ts';
import { checkPi } from './pi.conversation.ts';
import { PiProtocol } from './pi.protocol.ts';

/** pi ignores the providers' own endpoint variables; models.json carries them. */
const ENDPOINTS: Record<string, string> = {
  anthropic: 'ANTHROPIC_BASE_URL',
  openai: 'OPENAI_BASE_URL',
};

/** hangar's part of pi, below HOME: the agent's tree stays its own. */
const EXTENSION = '.pi/agent/hangar.mjs';

const RETRY_BASE_MILLISECONDS = 2_000;

export const piAdapter: HarnessAdapter = {
  name: 'pi',
  capabilities: {
    choosesId: true,
    resume: true,
    fork: false,
    steer: true,
    withdraw: true,
    approvals: true,
    questions: true,
    interrupt: true,
    cost: true,
  },
  conversationDirectories: ['.pi/agent/sessions'],
  command,
  protocol: (turn) => new PiProtocol(turn),
  check: checkPi,
  terminalHint: (conversationId) => `pi --session ${conversationId}`,
};

function command(turn: TurnSpec): HarnessCommand {
  const { provider, model } = modelChoice(turn);
  const id = turn.conversationId ?? '';
  return {
    argv: [
      turn.node,
      harnessProgram('pi', turn.harnessRoot),
      '--mode',
      'rpc',
      '--extension',
      `${turn.home}/${EXTENSION}`,
      // pi takes a provider only with a model; by itself it chooses by the credentials.
      ...(provider === null || model === null ? [] : ['--provider', provider]),
      ...(model === null ? [] : ['--model', model]),
      // `--session-id` starts over silently when nothing is there; `--session` refuses.
      ...(turn.resume ? ['--session', id] : ['--session-id', id]),
    ],
    envVars: {
      ...withoutKeys(turn),
      ...(turn.asksLeave ? { HANGAR_ASKS_LEAVE: '1' } : {}),
      PI_OFFLINE: '1',
      PI_TELEMETRY: '0',
      PI_SKIP_VERSION_CHECK: '1',
    },
    files: [
      { path: '.pi/agent/models.json', content: modelsFile(turn), mode: 0o600 },
      { path: '.pi/agent/settings.json', content: settingsFile(turn), mode: 0o600 },
      { path: EXTENSION, content: shippedFile('pi/hangar.mjs'), mode: 0o644 },
    ],
  };
}

/** What is asked for by a command is in no variable. */
const withoutKeys = ({ envVars, keyCommands }: TurnSpec): Record<string, string> =>
  Object.fromEntries(Object.entries(envVars).filter(([name]) => !(name in keyCommands)));

/** pi runs the command anew for each request, so it always has the newest key. */
function modelsFile(turn: TurnSpec): string {
  const providers: Record<string, { baseUrl?: string; apiKey?: string }> = {};
  for (const { name, credentials } of PROVIDERS) {
    const baseUrl = turn.envVars[ENDPOINTS[name] ?? ''];
    const [keyCommand] = credentials.flatMap((key) => turn.keyCommands[key] ?? []);
    const provider = {
      ...(baseUrl ? { baseUrl } : {}),
      ...(keyCommand === undefined ? {} : { apiKey: `!${keyCommand}` }),
    };
    if (Object.keys(provider).length > 0) providers[name] = provider;
  }
  return `${JSON.stringify({ providers }, null, 2)}\n`;
}

/** An idle process must not send paid requests; retries are bounded. */
function settingsFile(turn: TurnSpec): string {
  const retry = { maxRetries: modelRetries(turn), baseDelayMs: RETRY_BASE_MILLISECONDS };
  return `${JSON.stringify({ cacheWarming: 'off', retry }, null, 2)}\n`;
}
