import { IDLE_MINUTES_MAX, type CreateSessionInput } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import type { Terminal } from '../../terminal.ts';
import { sessionUp, turnSettled } from '../../wait/goal.ts';
import { refused } from '../../failure.ts';
import { readMessage, readTextFile } from '../read-text.ts';
import { settle } from './settle.ts';

export const newCommand = defineCommand({
  path: ['session', 'new'],
  summary: 'Start a session',
  description:
    'Makes a sandbox of the environment and, with a MESSAGE, runs the first turn. With --wait it ' +
    'ends when the sandbox is ready, or when that turn and its checkpoint are done.',
  args: {
    name: { help: 'lower-case letters, digits and hyphens; unique among your live sessions' },
    message: { help: 'the first message to the agent', optional: true, variadic: true },
  },
  flags: {
    env: { kind: 'text', value: 'NAME', help: 'environment (hangar env list)', required: true },
    harness: {
      kind: 'text',
      value: 'NAME',
      help: 'agent CLI (hangar harness list)',
      required: true,
    },
    model: { kind: 'text', value: 'NAME', help: "the harness's own default when left out" },
    repo: { kind: 'text', value: 'URL', help: "the environment's when left out" },
    base: { kind: 'text', value: 'BRANCH', help: 'branch to start from' },
    branch: { kind: 'text', value: 'BRANCH', help: 'branch to work on (hangar/session/NAME)' },
    title: { kind: 'text', value: 'TEXT', help: 'for people' },
    idle: {
      kind: 'count',
      value: 'MINUTES',
      help: 'suspend after so long without activity; 0: never',
      min: 0,
      max: IDLE_MINUTES_MAX,
    },
    ask: { kind: 'switch', help: 'tool calls need leave: a person is asked' },
    permissions: {
      kind: 'text',
      value: 'FILE',
      help: 'JSON as hangar session permissions --json prints it',
    },
  },
  waits: true,
  changes: true,
  examples: [
    'hangar session new csv-fix --env web --harness claude-code "fix the CSV export"',
    'hangar session new csv-fix --env web --harness codex --wait < task.md',
  ],
  json: 'the session',
  routes: ['POST /api/sessions', 'GET /api/sessions/{ref}', 'GET /api/sessions/{ref}/events'],
  async run(options) {
    const { args, flags, client, terminal } = options;
    const message = await readMessage(terminal, args.message);
    const permissions = await permissionsOf(terminal, flags);
    const session = await client.sessions.create({
      ...bodyOf(args.name, flags, message),
      ...(permissions === undefined ? {} : { permissions }),
    });
    const goal = message === null ? sessionUp() : turnSettled({ queuedAs: 'auto' });
    return settle(options, session, { goal, fromVersion: 0 });
  },
});

interface NewFlags {
  env: string;
  harness: string;
  model: string | undefined;
  repo: string | undefined;
  base: string | undefined;
  branch: string | undefined;
  title: string | undefined;
  idle: number | undefined;
  ask: boolean;
  permissions: string | undefined;
}

/** Of a file that holds a hundred rules, with room. */
const PERMISSIONS_BYTES_MAX = 256 * 1024;

/** What is in the file is checked by the server. */
async function permissionsOf(
  terminal: Terminal,
  { ask, permissions }: NewFlags,
): Promise<CreateSessionInput['permissions']> {
  if (permissions === undefined) return ask ? { mode: 'ask' } : undefined;
  if (ask) throw refused('--ask and --permissions say the same.', 'Give one of them.');
  const text = await readTextFile(terminal, permissions, PERMISSIONS_BYTES_MAX);
  try {
    return JSON.parse(text) as CreateSessionInput['permissions'];
  } catch {
    const form = '{"mode": "ask", "rules": [{"tool": "Read", "verdict": "allow"}]}';
    throw refused(`${permissions} is not JSON.`, `Write it as ${form}.`);
  }
}

const bodyOf = (name: string, flags: NewFlags, message: string | null): CreateSessionInput => ({
  name,
  environment: flags.env,
  harness: flags.harness,
  ...(flags.model === undefined ? {} : { model: flags.model }),
  ...(flags.repo === undefined ? {} : { repo: flags.repo }),
  ...(flags.base === undefined ? {} : { base_branch: flags.base }),
  ...(flags.branch === undefined ? {} : { branch: flags.branch }),
  ...(flags.title === undefined ? {} : { title: flags.title }),
  ...(flags.idle === undefined ? {} : { idle_minutes: flags.idle }),
  ...(message === null ? {} : { message }),
});
