/** Claude Code: one `claude -p` process (the native program) per turn. */
import type { HarnessAdapter, HarnessCommand, TurnSpec } from '../harness-adapter.ts';
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
  },
  // Beside the conversations: the todo list and the plan that a resumed turn looks for.
  conversationDirectories: ['.claude/projects', '.claude/tasks', '.claude/plans'],
  command,
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
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // Root in a sandbox is fine; without this the permission mode is refused.
      IS_SANDBOX: '1',
    },
    files: [],
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
