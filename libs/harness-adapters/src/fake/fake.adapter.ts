/** The fake harness: a script that travels with the turn, so it needs no install. */
import type {
  HarnessAdapter,
  HarnessCommand,
  TalkCommand,
  TalkSpec,
  TurnSpec,
} from '../harness-adapter.ts';
import { shippedFile } from '../shipped-file.ts';
import { checkFake } from './fake.conversation.ts';
import { FakeProtocol } from './fake.protocol.ts';

const SCRIPT = '.fake-harness/fake-harness.mjs';

export const fakeAdapter: HarnessAdapter = {
  name: 'fake',
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
  conversationDirectories: ['.fake-harness/sessions'],
  command,
  talk,
  protocol: (turn) => new FakeProtocol(turn),
  check: checkFake,
  terminalHint: (conversationId) => `node ~/${SCRIPT} --session ${conversationId} --resume`,
};

function command(turn: TurnSpec): HarnessCommand {
  return {
    argv: [
      turn.node,
      `${turn.home}/${SCRIPT}`,
      '--session',
      turn.conversationId ?? '',
      ...(turn.resume ? ['--resume'] : []),
      ...(turn.asksLeave ? ['--asks-leave'] : []),
    ],
    envVars: { ...turn.envVars },
    files: scriptFiles(),
  };
}

function talk({ node, home, conversationId, envVars }: TalkSpec): TalkCommand {
  return {
    argv: [node, `${home}/${SCRIPT}`, '--session', conversationId, '--talk'],
    envVars: { ...envVars },
    files: scriptFiles(),
    settings: [],
  };
}

const scriptFiles = (): HarnessCommand['files'] => [
  { path: SCRIPT, content: shippedFile('fake/fake-harness.mjs'), mode: 0o644 },
];
