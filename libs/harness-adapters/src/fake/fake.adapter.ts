/** The fake harness: a script that travels with the turn, so it needs no install. */
import { existsSync, readFileSync } from 'node:fs';
import type { HarnessAdapter, HarnessCommand, TurnSpec } from '../harness-adapter.ts';
import { checkFake } from './fake.conversation.ts';
import { FakeProtocol } from './fake.protocol.ts';

const SCRIPT = '.fake-harness/fake-harness.mjs';
/** Beside this file (source, or a bundle that copied it), else in the source beside `dist`. */
const PLACES = ['./fake-harness.mjs', '../../src/fake/fake-harness.mjs'];

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
  },
  conversationDirectories: ['.fake-harness/sessions'],
  command,
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
    files: [{ path: SCRIPT, content: source(), mode: 0o644 }],
  };
}

let text: string | null = null;

function source(): string {
  if (text === null) {
    const places = PLACES.map((place) => new URL(place, import.meta.url));
    const found = places.find((place) => existsSync(place)) ?? new URL(SCRIPT, import.meta.url);
    text = readFileSync(found, 'utf8');
  }
  return text;
}
