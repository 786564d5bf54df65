/** Gemini CLI: one headless `gemini` process per turn, with hangar's own lines around it. */
import { bridgeFiles } from '../bridge/bridge-files.ts';
import type {
  HarnessAdapter,
  HarnessCommand,
  TalkCommand,
  TalkSpec,
  TurnSpec,
} from '../harness-adapter.ts';
import { withKeysAtStart } from '../keys-at-start.ts';
import { modelRetries } from '../model-retries.ts';
import { harnessProgram } from '../versions.ts';
import { checkGemini } from './gemini.conversation.ts';
import { GeminiProtocol } from './gemini.protocol.ts';

/** Below HOME: the agent's tree stays its own. */
const BRIDGE = '.gemini/hangar';

export const geminiAdapter: HarnessAdapter = {
  name: 'gemini',
  capabilities: {
    choosesId: true,
    resume: true,
    fork: false,
    steer: false,
    withdraw: false,
    approvals: false,
    questions: false,
    interrupt: true,
    cost: false,
    talk: true,
    talkAsks: true,
  },
  conversationDirectories: ['.gemini/tmp'],
  command,
  talk,
  protocol: (turn) => new GeminiProtocol(turn),
  check: checkGemini,
  terminalHint: (conversationId) => `gemini --resume ${conversationId}`,
};

function command(turn: TurnSpec): HarnessCommand {
  const id = turn.conversationId ?? '';
  return {
    argv: withKeysAtStart(
      turn,
      ['GEMINI_API_KEY'],
      [
        turn.node,
        `${turn.home}/${BRIDGE}/turn.mjs`,
        id,
        turn.node,
        harnessProgram('gemini', turn.harnessRoot),
        '--yolo',
        '--output-format',
        'stream-json',
        ...(turn.model === null ? [] : ['--model', turn.model]),
        turn.resume ? '--resume' : '--session-id',
        id,
      ],
    ),
    envVars: { ...turn.envVars, ...PLAIN },
    files: [
      { path: '.gemini/settings.json', content: settingsFile(turn), mode: 0o600 },
      ...bridgeFiles(BRIDGE, 'gemini'),
    ],
  };
}

const PLAIN = {
  // Otherwise it starts itself again, and signals reach only the first of the two.
  GEMINI_CLI_NO_RELAUNCH: 'true',
  // Otherwise `--yolo` is not heeded in a directory that nobody has called trusted.
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
};

function talk(talk: TalkSpec): TalkCommand {
  const argv = [
    talk.node,
    harnessProgram('gemini', talk.harnessRoot),
    ...(talk.asksLeave ? [] : ['--yolo']),
    ...(talk.model === null ? [] : ['--model', talk.model]),
    '--resume',
    talk.conversationId,
  ];
  return {
    argv: withKeysAtStart(talk, ['GEMINI_API_KEY'], argv),
    envVars: { ...talk.envVars, ...PLAIN },
    files: [{ path: '.gemini/settings.json', content: settingsFile(talk), mode: 0o600 }],
    settings: [],
  };
}

function settingsFile(turn: TurnSpec | TalkSpec): string {
  const settings = {
    security: {
      // An endpoint of its own would choose another way to log in, which headless refuses.
      auth: { selectedType: 'gemini-api-key' },
      folderTrust: { enabled: false },
    },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    general: {
      enableAutoUpdate: false,
      enableAutoUpdateNotification: false,
      // Its clean-up deletes a conversation beside an empty file of the same id.
      sessionRetention: { enabled: false },
      maxAttempts: Math.min(modelRetries(turn) + 1, ATTEMPTS_MAX),
    },
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** The most it takes. */
const ATTEMPTS_MAX = 10;
