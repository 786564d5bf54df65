/**
 * Antigravity: one `agy` process per turn that speaks lines both ways. **Not verified**: hangar's suite
 * has run against a program that does what is said of it (`testing/fake-agy.mjs`), never against `agy`.
 * What is documented is where conversations are, `--conversation`, and the id in the first event; the
 * other flags and lines are as programs that drive it use them.
 */
import type { HarnessAdapter, HarnessCommand, TurnSpec } from '../harness-adapter.ts';
import { harnessProgram } from '../versions.ts';
import { ANTIGRAVITY_CONVERSATIONS, checkAntigravity } from './antigravity.conversation.ts';
import { AntigravityProtocol } from './antigravity.protocol.ts';

/** Its own time limit is minutes; hangar's ends a turn before this one does. */
const PRINT_TIMEOUT = '24h';

export const antigravityAdapter: HarnessAdapter = {
  name: 'antigravity',
  capabilities: {
    choosesId: false,
    resume: true,
    fork: false,
    steer: false,
    withdraw: false,
    approvals: false,
    questions: false,
    interrupt: true,
    cost: false,
    talk: false,
    talkAsks: false,
  },
  // Beside it lies the token of whoever signed in: this directory and no other [C7].
  conversationDirectories: [ANTIGRAVITY_CONVERSATIONS],
  command,
  protocol: (turn) => new AntigravityProtocol(turn),
  check: checkAntigravity,
  terminalHint: (conversationId) => `agy --conversation ${conversationId}`,
};

function command(turn: TurnSpec): HarnessCommand {
  return {
    argv: [
      harnessProgram('antigravity', turn.harnessRoot),
      '--input-format',
      'stream-json',
      '--output-format',
      'stream-json',
      '--print-timeout',
      PRINT_TIMEOUT,
      // Without it a call is denied in silence, for nobody is there to ask.
      '--dangerously-skip-permissions',
      '--add-dir',
      turn.cwd,
      ...(turn.model === null ? [] : ['--model', turn.model]),
      ...(turn.resume ? ['--conversation', turn.conversationId ?? ''] : []),
    ],
    envVars: { ...turn.envVars, AGY_CLI_DISABLE_AUTO_UPDATE: 'true' },
    files: [],
  };
}
