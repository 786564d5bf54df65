/** OpenCode: one `opencode serve` on loopback per turn, behind a bridge that speaks lines. */
import { bridgeFiles } from '../bridge/bridge-files.ts';
import type { HarnessAdapter, HarnessCommand, TurnSpec } from '../harness-adapter.ts';
import { withKeysAtStart } from '../keys-at-start.ts';
import { modelChoice, PROVIDERS } from '../model-choice.ts';
import { harnessProgram } from '../versions.ts';
import { checkOpencode, CONVERSATIONS } from './opencode.conversation.ts';
import { OpencodeProtocol } from './opencode.protocol.ts';

/** Below HOME: the agent's tree stays its own. */
const BRIDGE = '.config/hangar-opencode';
/** OpenCode's own database may come to hold credentials; this one has hangar's conversations. */
const DATABASE = '.local/share/opencode/hangar.db';

/** How a provider's endpoint follows from its variable: the AI SDK wants the version in it. */
const ENDPOINTS: Record<string, { variable: string; path: string }> = {
  anthropic: { variable: 'ANTHROPIC_BASE_URL', path: '/v1' },
  openai: { variable: 'OPENAI_BASE_URL', path: '' },
  google: { variable: 'GOOGLE_GEMINI_BASE_URL', path: '/v1beta' },
};

export const opencodeAdapter: HarnessAdapter = {
  name: 'opencode',
  capabilities: {
    choosesId: false,
    resume: true,
    fork: false,
    steer: false,
    withdraw: false,
    approvals: true,
    questions: true,
    interrupt: true,
    cost: true,
    // Its interface works on a database of its own, and not on the conversation's file.
    talk: false,
    talkAsks: false,
  },
  conversationDirectories: [CONVERSATIONS],
  command,
  protocol: (turn) => new OpencodeProtocol(turn),
  check: checkOpencode,
  terminalHint: (conversationId) => `OPENCODE_DB=~/${DATABASE} opencode -s ${conversationId}`,
};

function command(turn: TurnSpec): HarnessCommand {
  return {
    argv: withKeysAtStart(turn, keysOf(turn), [
      turn.node,
      `${turn.home}/${BRIDGE}/turn.mjs`,
      harnessProgram('opencode', turn.harnessRoot),
      turn.resume ? (turn.conversationId ?? '') : '',
    ]),
    envVars: {
      ...turn.envVars,
      OPENCODE_DB: `${turn.home}/${DATABASE}`,
      OPENCODE_CONFIG_CONTENT: configuration(turn),
      OPENCODE_PERMISSION: JSON.stringify(
        turn.asksLeave ? { '*': 'ask', question: 'allow' } : { '*': 'allow' },
      ),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
    files: bridgeFiles(BRIDGE, 'opencode'),
  };
}

/** Of the one provider that the turn may use. */
function keysOf(turn: TurnSpec): readonly string[] {
  const { provider } = modelChoice(turn);
  return PROVIDERS.find(({ name }) => name === provider)?.credentials ?? [];
}

function configuration(turn: TurnSpec): string {
  const { provider, model } = modelChoice(turn);
  const shared = { autoupdate: false, share: 'disabled' };
  if (provider === null) return JSON.stringify({ ...shared, enabled_providers: [] });
  const endpoint = ENDPOINTS[provider];
  const baseUrl = endpoint === undefined ? undefined : turn.envVars[endpoint.variable];
  const named = model === null ? {} : { model: `${provider}/${model}` };
  const options = baseUrl === undefined ? {} : { baseURL: `${baseUrl}${endpoint?.path}` };
  // A model that is newer than OpenCode's list of them is known by being named here.
  const models = model === null ? {} : { [model]: {} };
  return JSON.stringify({
    ...shared,
    ...named,
    ...(model === null ? {} : { small_model: `${provider}/${model}` }),
    enabled_providers: [provider],
    provider: { [provider]: { options, models } },
  });
}
