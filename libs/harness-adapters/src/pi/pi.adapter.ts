/** pi (`@earendil-works/pi-coding-agent`): one `pi --mode rpc` process per turn. */
import type {
  HarnessAdapter,
  HarnessCommand,
  TalkCommand,
  TalkSpec,
  TurnSpec,
} from '../harness-adapter.ts';
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
    talk: true,
    talkAsks: false,
  },
  conversationDirectories: ['.pi/agent/sessions'],
  command,
  talk,
  protocol: (turn) => new PiProtocol(turn),
  check: checkPi,
  terminalHint: (conversationId) => `pi --session ${conversationId}`,
};

/** pi asks nobody for leave: in its own interface there is nothing to ask with. */
function talk(talk: TalkSpec): TalkCommand {
  return {
    argv: [
      talk.node,
      harnessProgram('pi', talk.harnessRoot),
      ...modelFlags(talk),
      '--session',
      talk.conversationId,
      // What the repository brings along for pi is heeded in turns, too, and not asked about.
      '--approve',
    ],
    envVars: { ...withoutKeys(talk), ...QUIET },
    files: settings(talk),
    settings: [],
  };
}

/** pi takes a provider only with a model; by itself it chooses by the credentials. */
function modelFlags(turn: TurnSpec | TalkSpec): string[] {
  const { provider, model } = modelChoice(turn);
  return [
    ...(provider === null || model === null ? [] : ['--provider', provider]),
    ...(model === null ? [] : ['--model', model]),
  ];
}

const QUIET = { PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_SKIP_VERSION_CHECK: '1' };

const settings = (turn: TurnSpec | TalkSpec): HarnessCommand['files'] => [
  { path: '.pi/agent/models.json', content: modelsFile(turn), mode: 0o600 },
  { path: '.pi/agent/settings.json', content: settingsFile(turn), mode: 0o600 },
];

function command(turn: TurnSpec): HarnessCommand {
  const id = turn.conversationId ?? '';
  return {
    argv: [
      turn.node,
      harnessProgram('pi', turn.harnessRoot),
      '--mode',
      'rpc',
      '--extension',
      `${turn.home}/${EXTENSION}`,
      ...modelFlags(turn),
      // `--session-id` starts over silently when nothing is there; `--session` refuses.
      ...(turn.resume ? ['--session', id] : ['--session-id', id]),
    ],
    envVars: {
      ...withoutKeys(turn),
      ...(turn.asksLeave ? { HANGAR_ASKS_LEAVE: '1' } : {}),
      ...QUIET,
    },
    files: [
      ...settings(turn),
      { path: EXTENSION, content: shippedFile('pi/hangar.mjs'), mode: 0o644 },
    ],
  };
}

/** What is asked for by a command is in no variable. */
const withoutKeys = ({ envVars, keyCommands }: TurnSpec | TalkSpec): Record<string, string> =>
  Object.fromEntries(Object.entries(envVars).filter(([name]) => !(name in keyCommands)));

/** pi runs the command anew for each request, so it always has the newest key. */
function modelsFile(turn: TurnSpec | TalkSpec): string {
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
function settingsFile(turn: TurnSpec | TalkSpec): string {
  const retry = { maxRetries: modelRetries(turn), baseDelayMs: RETRY_BASE_MILLISECONDS };
  return `${JSON.stringify({ cacheWarming: 'off', retry }, null, 2)}\n`;
}
