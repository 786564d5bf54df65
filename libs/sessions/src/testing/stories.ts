import {
  deriveId,
  type Ask,
  type Continuity,
  type SandboxPlace,
  type SessionEvent,
} from '@hangar/contracts';
import type { SessionCommand, SessionCommands } from '../session.commands.ts';
import { decide } from '../session.decider.ts';
import { evolve } from '../session.evolve.ts';
import { initialState, type Session, type SessionState } from '../session.ts';

/** Stories for specs: what happened to one session, told as the commands that made it happen. */
export const SESSION_ID = 'ses-1a2b3c4d';
export const decider = { initial: initialState, evolve, decide };

const START_MS = Date.parse('2030-01-01T00:00:00.000Z');

/** So many minutes after the beginning, RFC 3339. */
export const minute = (minutes: number): string =>
  new Date(START_MS + minutes * 60_000).toISOString();

/** A command at a minute of the story. */
export const command = <K extends SessionCommand['type']>(
  type: K,
  data: SessionCommands[K],
  minutes = 0,
): SessionCommand => ({ type, data, now: minute(minutes) }) as SessionCommand;

/** The events that commands give, one after the other. */
export function told(...commands: SessionCommand[]): SessionEvent[] {
  const events: SessionEvent[] = [];
  for (const c of commands) events.push(...decide(stateAfter(events), c));
  return events;
}

export const stateAfter = (events: SessionEvent[]): SessionState =>
  events.reduce((state: SessionState, event) => evolve(state, event), initialState);

/** What one more command gives. */
export const decided = (past: SessionEvent[], next: SessionCommand): SessionEvent[] =>
  decide(stateAfter(past), next);

export function sessionAfter(events: SessionEvent[]): Session {
  const state = stateAfter(events);
  if (!state) throw new Error('there is no session in this story');
  return state;
}

export const place = (sandboxId: string): SandboxPlace => ({
  sandbox_id: sandboxId,
  instance: 'boot-1',
  home: '/home/agent',
  cwd: '/workspace/repo',
  node: '/run/hangar/node',
  tools: '/run/hangar/tools',
  harness_root: '/opt/harness',
});

export const sandboxId = (epoch: number): string => `sbx-1a2b3c4d-${epoch}`;
export const checkpointId = (number: number): string => `ckp-1a2b3c4d-${number}`;
export const runId = (turn: number): string => `run-1a2b3c4d-${turn}`;
export const USAGE = { input_tokens: 10, output_tokens: 20, cached_tokens: 0 };

export const create = command('CreateSession', {
  session_id: SESSION_ID,
  name: 'fix-login',
  title: 'Fix the login',
  owner: 'ada',
  environment: 'default',
  harness: 'fake',
  repo: 'https://example.org/repo.git',
  base_branch: 'main',
  branch: 'hangar/session/fix-login',
  cwd: '/workspace/repo',
  idle_minutes: 30,
  turn_minutes: 60,
  checkpoints_kept_max: 2,
});

type Mode = 'auto' | 'steer' | 'queue' | 'interrupt';

/** To a harness that takes no messages while it works; `steer` is to one that does. */
export const send = (id: string, minutes = 0, mode: Mode = 'auto', steers = false) =>
  command('SendMessage', { message_id: id, text: `please ${id}`, mode, steers }, minutes);

export const steer = (id: string, mode: Mode = 'auto') => send(id, 0, mode, true);

export const attach = (epoch: number, minutes = 0) =>
  command(
    'AttachSandbox',
    { sandbox_id: sandboxId(epoch), place: place(sandboxId(epoch)) },
    minutes,
  );

export const deliver = (turn: number, id: string) =>
  command('NoteDelivery', { run_id: runId(turn), turn, message_id: id });

/** The harness's id of it. */
export const CONVERSATION = 'conversation-1';

export const finish = (turn: number, outcome = 'succeeded', minutes = 0) =>
  command(
    'FinishTurn',
    {
      run_id: runId(turn),
      turn,
      outcome,
      exit_code: outcome === 'succeeded' ? 0 : 1,
      summary: `did turn ${turn}`,
      usage: USAGE,
      harness_session: CONVERSATION,
      conversation: 'native',
    },
    minutes,
  );

export const record = (
  number: number,
  more: Partial<SessionCommands['RecordCheckpoint']> = {},
  minutes = 0,
) =>
  command(
    'RecordCheckpoint',
    {
      checkpoint_id: checkpointId(number),
      epoch: 1,
      reason: 'turn',
      turn: 1,
      complete: true,
      head: 'c0ffee',
      parts: [{ name: 'wip', size: 100, sha256: 'ab' }],
      skipped: [],
      warnings: [],
      fingerprint: `fingerprint-${number}`,
      taken_at: minute(minutes),
      ...more,
    },
    minutes,
  );

const KEPT = { state: 'kept' };
export const CONTINUITY: Continuity = {
  conversation: KEPT,
  commits: KEPT,
  staged: KEPT,
  unstaged: KEPT,
  untracked: KEPT,
  ignored: { state: 'lost', detail: 'not asked for' },
  processes: { state: 'lost' },
  losses: [],
};

export const restored = (number: number, epoch: number, losses: Continuity['losses'] = []) =>
  command('FinishRestore', {
    checkpoint_id: checkpointId(number),
    epoch,
    continuity: { ...CONTINUITY, losses },
  });

export const talk = (request = 'req-1', minutes = 0) =>
  command('StartTalk', { request_id: request, cols: 80, rows: 24, talks: true }, minutes);
export const terminalId = (number: number): string => `trm-1a2b3c4d-${number}`;
export const talked = (number: number, minutes = 0) =>
  command(
    'FinishTalk',
    { terminal_id: terminalId(number), reason: 'the agent left', exit_code: 0 },
    minutes,
  );

export const suspend = (force = false, minutes = 0) =>
  command('SuspendSession', { force }, minutes);

/** A question with choices, as an agent asks it. */
export const QUESTION: Ask = {
  id: 'toolu_01',
  kind: 'question',
  questions: [
    {
      id: 'which',
      text: 'Which fix?',
      choices: [
        { label: 'A', description: '' },
        { label: 'B', description: '' },
      ],
      is_multiple: false,
    },
  ],
};

/** A tool call that wants leave. */
export const DECISION: Ask = {
  id: 'toolu_02',
  kind: 'decision',
  questions: [{ id: 'leave', text: 'Run `rm -r build`?', choices: [], is_multiple: false }],
  tool: 'Bash',
  tool_input: '{"command":"rm -r build"}',
};

export const ask = (turn: number, asked: Ask = QUESTION, minutes = 0) =>
  command('RaiseAsk', { run_id: runId(turn), turn, ask: asked }, minutes);

export const askCardId = (turn: number, asked: Ask = QUESTION): string =>
  deriveId('card', SESSION_ID, 'ask', turn, asked.id);

/** To the question, as it comes to the agent. */
export const answerOf = (text: string) => ({
  verdict: 'allow',
  answers: [{ question_id: 'which', text }],
  reason: '',
});

export const answer = (turn: number, text = 'B', by = 'ada', minutes = 0) =>
  command(
    'AnswerCard',
    { card_id: askCardId(turn), answer: answerOf(text), answered_by: by },
    minutes,
  );

export const closeAsk = (turn: number, asked: Ask = QUESTION, minutes = 0) =>
  command('CloseAsk', { run_id: runId(turn), turn, ask_id: asked.id }, minutes);

const started = command('NoteTurnStarted', { run_id: runId(1), turn: 1 });
/** How the session hears that its turn is lost; `silent`: by the clock alone. */
export const lose = (how: 'vanished' | 'sandbox gone' | 'silent', turn = 1) =>
  command('LoseTurn', {
    run_id: runId(turn),
    turn,
    reason: 'the process was killed',
    sandbox_gone: how === 'sandbox gone',
    is_silent: how === 'silent',
  });

const upTo = {
  starting: [create],
  idle: [create, attach(1)],
  active: [create, attach(1), send('msg-1')],
  running: [create, attach(1), send('msg-1'), started, deliver(1, 'msg-1')],
};
const saving = [...upTo.running, finish(1)];
const saved = [...saving, record(1)];
const suspending = [...saved, suspend()];
const suspended = [
  ...suspending,
  record(2, { reason: 'suspend' }),
  command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' }),
];
const resuming = [...suspended, command('OpenSession', {})];
const interrupted = [...upTo.running, lose('vanished'), record(1)];

const steered = [...upTo.running, steer('msg-2')];
const asked = [...upTo.running, ask(1)];
/** Suspended with its question open. */
const deferred = [
  ...asked,
  suspend(),
  finish(1, 'deferred'),
  record(1),
  record(2, { reason: 'suspend' }),
  command('FinishRelease', { sandbox_id: sandboxId(1), cause: 'asked' }),
];

/** A story for each state, and for each step of a state that makes a difference. */
export const STORIES = {
  'not created': [],
  STARTING: upTo.starting,
  IDLE: upTo.idle,
  'IDLE, a checkpoint is being taken': [...upTo.idle, command('TakeCheckpoint', {})],
  'IDLE, saved': saved,
  'IDLE, talking': [...saved, talk()],
  'ACTIVE, requested': upTo.active,
  'ACTIVE, running': upTo.running,
  'ACTIVE, steered': steered,
  'ACTIVE, asked': asked,
  'ACTIVE, deferring': [...asked, suspend()],
  'ACTIVE, cancelling': [...upTo.running, command('InterruptTurn', {})],
  'ACTIVE, ended': saving,
  'SUSPENDING, saving': suspending,
  'SUSPENDING, releasing': [...suspending, record(2, { reason: 'suspend' })],
  SUSPENDED: suspended,
  'SUSPENDED, asked': deferred,
  RESUMING: resuming,
  'RESUMING, restoring': [...resuming, attach(2)],
  INTERRUPTED: interrupted,
  'INTERRUPTED, sandbox gone': [...upTo.running, lose('sandbox gone')],
  FAILED: [
    create,
    command('FailStart', { sandbox_id: sandboxId(1), phase: 'cloning', reason: 'no such branch' }),
  ],
  ARCHIVED: [...saved, command('ArchiveSession', {})],
  DELETED: [...saved, command('DeleteSession', { force: false, deleted_by: 'token:t1' })],
} satisfies Record<string, SessionCommand[]>;

export type StoryName = keyof typeof STORIES;
export const story = (name: StoryName): SessionEvent[] => told(...STORIES[name]);
