import { describe, expect, it } from '@jest/globals';
import type { CardDocument, SessionOutcome, TurnDocument } from '@hangar/contracts';
import { nextOf, sessionAnswer, sessionText } from './session.answer.ts';

const turn = (number: number, more: Partial<TurnDocument> = {}): TurnDocument => ({
  number,
  run_id: `run-${number}`,
  message_id: `msg-0000000${number}`,
  message: `message ${number}`,
  requested_at: '2030-01-01T00:00:00Z',
  started_at: null,
  finished_at: null,
  outcome: 'succeeded',
  exit_code: 0,
  summary: `answer ${number}`,
  usage: null,
  error: null,
  conversation: 'native',
  steered: [],
  checkpoint_id: null,
  ...more,
});

const card = (kind: string, questions: number): CardDocument => ({
  id: 'card-00000001',
  kind,
  text: 'Which?',
  choices: kind === 'decision' ? ['allow', 'deny'] : ['A', 'B'],
  since: '2030-01-01T00:00:00Z',
  turn: 1,
  questions: Array.from({ length: questions }, (_, index) => ({
    id: `q${index + 1}`,
    text: `Which ${index + 1}?`,
    choices: [],
    is_multiple: false,
  })),
  tool: kind === 'decision' ? { name: 'Bash', input: '{"command":"git push"}' } : null,
});

const session = (more: Partial<SessionOutcome> = {}): SessionOutcome => ({
  id: 'ses-00000001',
  name: 'work',
  title: 'work',
  owner: 'dev',
  environment: 'plain',
  harness: 'fake',
  model: null,
  repo: null,
  base_branch: null,
  branch: 'b',
  cwd: '/workspace/work',
  harness_session: null,
  sandbox_id: null,
  state: 'IDLE',
  state_reason: '',
  start_phase: null,
  conversation: 'native',
  idle_minutes: 30,
  forked_from: null,
  created_at: '2030-01-01T00:00:00Z',
  last_active_at: '2030-01-01T00:00:00Z',
  updated_at: '2030-01-01T00:00:00Z',
  version: 1,
  turns: [turn(1), turn(2)],
  checkpoints: [],
  continuity: null,
  attention: [],
  queue: [],
  talk: null,
  limits: {
    idle_minutes: 30,
    turn_minutes: 60,
    session_keep_checkpoints: 5,
    messages_queued: 32,
    message_bytes: 1,
  },
  permissions: { mode: 'all', rules: [] },
  ...more,
});

describe('what an agent is told to do next', () => {
  it.each<[string, Partial<SessionOutcome>, string]>([
    ['done', {}, 'Call changes with session work'],
    ['suspended', { state: 'SUSPENDED' }, 'Call send_to_session with session work'],
    ['never spoken with', { turns: [] }, 'Call send_to_session with session work'],
    ['at work', { state: 'ACTIVE', turns: [turn(1, { outcome: null })] }, 'Call get_session'],
    ['interrupted', { state: 'INTERRUPTED', waited: false }, 'Call resolve_interruption'],
    ['failed', { state: 'FAILED' }, 'Call open_session'],
    ['archived', { state: 'ARCHIVED' }, 'new_session'],
    [
      'pending, by its message',
      { state: 'ACTIVE', waited: false, message_id: 'msg-00000002' },
      'get_session with session work, message_id msg-00000002 and wait_seconds 45',
    ],
    [
      'pending while somebody talks with the agent',
      { waited: false, talk: { terminal_id: 'trm-1', since: '2030-01-01T00:00:00Z' } },
      'it goes on when that ends. Call get_session',
    ],
    ['asked', { attention: [card('question', 1)], waited: false }, 'text: a choice'],
    ['asked several', { attention: [card('question', 2)] }, 'answers by question id (q1, q2)'],
    ['asked for leave', { attention: [card('decision', 1)] }, 'verdict "allow" or "deny"'],
    // Nobody can answer what is only told.
    ['told of a loss', { attention: [card('lost_state', 0)] }, 'Call changes'],
  ])('%s', (_, more, words) => {
    expect(nextOf(sessionAnswer(session(more)))).toContain(words);
  });
});

describe('a session as an answer', () => {
  it('is about the turn of its message, also of one that joined it', () => {
    const turns = [turn(1, { steered: [{ message_id: 'msg-0000000a', text: 'x' }] }), turn(2)];
    const about = (message_id: string) => sessionAnswer(session({ turns, message_id })).turn;
    expect(about('msg-0000000a')?.number).toBe(1);
    expect(about('msg-00000002')?.number).toBe(2);
    expect(about('msg-0000000b')).toBeNull();
  });

  it('says in text what it says in fields', () => {
    const text = sessionText(
      sessionAnswer(
        session({
          state: 'ACTIVE',
          start_phase: null,
          state_reason: 'turn 2',
          waited: false,
          attention: [card('decision', 1)],
          turns: [turn(2, { outcome: null, summary: '' })],
        }),
      ),
    );
    expect(text.split('\n')).toEqual([
      'work (ses-00000001) is ACTIVE: turn 2',
      'Pending: the time to wait ran out before the outcome.',
      'Turn 2: at work',
      'Card card-00000001 (decision): Which? [allow | deny]',
      '  Bash {"command":"git push"}',
      expect.stringContaining('Next: Call answer with session work, card card-00000001'),
    ]);
  });

  it('names what a resume lost, and says nothing of what is never kept', () => {
    const part = { state: 'kept' };
    const continuity = {
      conversation: { state: 'lost', detail: 'no file' },
      commits: part,
      staged: part,
      unstaged: part,
      untracked: { state: 'partly' },
      ignored: { state: 'lost' },
      processes: { state: 'lost' },
      losses: [{ path: 'big.bin', reason: 'too large' }, { reason: 'no repository' }],
    };
    const { losses } = sessionAnswer(session({ continuity }));
    expect(losses).toEqual([
      'conversation: lost (no file)',
      'untracked: partly',
      'big.bin: too large',
      'no repository',
    ]);
  });

  it('is bounded, whatever was said', () => {
    const long = 'x'.repeat(1_000_000);
    const asked = { ...card('decision', 3), text: long, tool: { name: 'Bash', input: long } };
    const answer = sessionAnswer(
      session({
        turns: [turn(1, { message: long, summary: long, error: long })],
        attention: Array.from({ length: 40 }, () => asked),
        queue: Array.from({ length: 32 }, () => ({
          message_id: 'msg-00000001',
          text: long,
          mode: 'auto',
          queued_at: '2030-01-01T00:00:00Z',
          is_steering: false,
        })),
      }),
    );
    expect(JSON.stringify(answer).length).toBeLessThan(60_000);
    expect(answer.turn?.answer).toContain('[cut, 988000 characters more]');
  });
});
