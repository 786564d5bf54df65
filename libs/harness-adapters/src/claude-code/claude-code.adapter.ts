/** Claude Code: one `claude -p` process (the native program) per turn. */
import type {
  HarnessAdapter,
  HarnessCommand,
  TalkCommand,
  TalkSpec,
  TurnSpec,
} from '../harness-adapter.ts';
import { modelRetries } from '../model-retries.ts';
import { harnessProgram } from '../versions.ts';
import { checkClaude } from './claude-code.conversation.ts';
import { ClaudeCodeProtocol } from './claude-code.protocol.ts';

/** Come before a key, and are in the environment only. */
const TOKENS = ['ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'];

export const claudeCodeAdapter: HarnessAdapter = {
  name: 'claude-code',
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
    talkAsks: true,
  },
  // Beside the conversations: the todo list and the plan that a resumed turn looks for.
  conversationDirectories: ['.claude/projects', '.claude/tasks', '.claude/plans'],
  command,
  talk,
  protocol: (turn) => new ClaudeCodeProtocol(turn),
  check: checkClaude,
  terminalHint: (conversationId) => `claude --resume ${conversationId}`,
};

function command(turn: TurnSpec): HarnessCommand {
  const id = turn.conversationId ?? '';
  const { envVars, settings } = credentials(turn);
  return {
    argv: [
      harnessProgram('claude-code', turn.harnessRoot),
      '-p',
      '--input-format=stream-json',
      '--output-format=stream-json',
      '--verbose',
      '--include-partial-messages',
      '--replay-user-messages',
      // Writes the transcript before it says the result, not some 200 ms after it.
      '--session-mirror',
      '--permission-prompt-tool=stdio',
      '--permission-mode=bypassPermissions',
      ...settings,
      // A resumed conversation would else go on with the model of its last message.
      ...(turn.model === null ? [] : ['--model', turn.model]),
      ...(turn.resume ? ['--resume', id] : ['--session-id', id]),
    ],
    envVars: {
      ...envVars,
      CLAUDE_CODE_MAX_RETRIES: String(modelRetries(turn)),
      // The end of a turn is the state `idle`, which is only said when asked for.
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
      ...QUIET,
    },
    files: [],
  };
}

const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  // Root in a sandbox is fine; without this the permission mode is refused.
  IS_SANDBOX: '1',
};

/** Where a key comes from that is in the environment only: under its own name it is asked about. */
const KEY_VARIABLE = 'HANGAR_AGENT_KEY';

function talk(talk: TalkSpec): TalkCommand {
  const { ANTHROPIC_API_KEY: key, ...others } = talk.envVars;
  const hasToken = TOKENS.some((name) => others[name]);
  const helper = talk.keyCommands['ANTHROPIC_API_KEY'] ?? (key ? `printenv ${KEY_VARIABLE}` : null);
  const apiKeyHelper = hasToken ? null : helper;
  return {
    argv: [
      // The sandbox's own variables reach every process in it.
      'env',
      '-u',
      'ANTHROPIC_API_KEY',
      harnessProgram('claude-code', talk.harnessRoot),
      '--resume',
      talk.conversationId,
      // Who sits there gives leave, where the session wants it to be asked for.
      ...(talk.asksLeave ? [] : ['--dangerously-skip-permissions']),
      ...(apiKeyHelper === null ? [] : ['--settings', JSON.stringify({ apiKeyHelper })]),
      ...(talk.model === null ? [] : ['--model', talk.model]),
    ],
    envVars: { ...others, ...(key === undefined ? {} : { [KEY_VARIABLE]: key }), ...QUIET },
    files: [],
    settings: [
      {
        path: '.claude.json',
        values: {
          hasCompletedOnboarding: true,
          theme: 'dark',
          projects: { [talk.cwd]: { hasTrustDialogAccepted: true } },
        },
      },
      { path: '.claude/settings.json', values: { skipDangerousModePermissionPrompt: true } },
    ],
  };
}

/**
 * The CLI runs its helper again when a key is refused, and goes on with the turn; a key in the
 * environment is the process's for good. Tokens of a subscription have no such way.
 */
function credentials(turn: TurnSpec): { envVars: Record<string, string>; settings: string[] } {
  const { ANTHROPIC_API_KEY: _key, ...others } = turn.envVars;
  const apiKeyHelper = turn.keyCommands['ANTHROPIC_API_KEY'];
  const hasToken = TOKENS.some((name) => others[name]);
  if (apiKeyHelper === undefined || hasToken) return { envVars: turn.envVars, settings: [] };
  return { envVars: others, settings: ['--settings', JSON.stringify({ apiKeyHelper })] };
}
