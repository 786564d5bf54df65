import { describe, expect, it } from '@jest/globals';
import { SESSION_STATES, type SessionDocument, type SessionStateName } from '@hangar/contracts';
import { queuedText } from './queue-words.ts';
import { sendingTo, STATES, talkBlockedBy, type Sending } from './session-words.ts';

const RUNNING = { finished_at: null } as SessionDocument['turns'][number];

function sendingIn(
  state: SessionStateName,
  steers: boolean | null,
  { turns = [RUNNING], queued = 0 }: { turns?: SessionDocument['turns']; queued?: number } = {},
): Sending {
  const queue = Array.from({ length: queued }) as SessionDocument['queue'];
  const limits = { messages_queued: 32 } as SessionDocument['limits'];
  return sendingTo({ state, turns, queue, limits, talk: null }, steers);
}

describe('what becomes of a message is said before it is sent [M1] [M3]', () => {
  it.each([
    ['IDLE', true, 'Send'],
    ['ACTIVE', true, 'Steer'],
    ['ACTIVE', false, 'Queue'],
    ['ACTIVE', null, 'Send'],
    ['SUSPENDED', true, 'Resume and send'],
    ['FAILED', true, 'Open and send'],
    ['STARTING', true, 'Queue'],
    ['RESUMING', true, 'Queue'],
    ['SUSPENDING', true, 'Queue'],
    ['INTERRUPTED', true, 'Queue'],
  ] as const)('%s, steers: %s', (state, steers, label) => {
    expect(sendingIn(state, steers)).toMatchObject({ label, isPossible: true });
  });

  it('a turn that is over and being saved is not steered any more', () => {
    expect(sendingIn('ACTIVE', true, { turns: [] }).label).toBe('Queue');
  });

  it('a message waits while somebody talks with the agent in a terminal', () => {
    const talk = { terminal_id: 'trm-00000001-1', since: '2026-11-30T12:00:00Z' };
    const limits = { messages_queued: 32 } as SessionDocument['limits'];
    const session = { state: 'IDLE' as const, turns: [], queue: [], limits, talk };
    expect(sendingTo(session, true).label).toBe('Queue');
    expect(talkBlockedBy(session)).toMatch(/already/);
    expect(talkBlockedBy({ ...session, talk: null })).toBeNull();
    expect(talkBlockedBy({ ...session, talk: null, state: 'SUSPENDED' })).toMatch(/Resume/);
  });

  it('an archived session and a full queue take none', () => {
    expect(sendingIn('ARCHIVED', true).isPossible).toBe(false);
    expect(sendingIn('IDLE', true, { queued: 32 })).toMatchObject({ isPossible: false });
    expect(sendingIn('IDLE', true, { queued: 31 }).isPossible).toBe(true);
  });
});

describe('words', () => {
  it('are there for every state, and no two are alike', () => {
    expect(new Set(SESSION_STATES.map((state) => STATES[state].word)).size).toBe(
      SESSION_STATES.length,
    );
  });

  it('of a queued message say what it waits for', () => {
    const waits = { is_steering: false };
    expect(queuedText({ is_steering: true }, 'ACTIVE', 0)).toMatch(/current tool call/);
    expect(queuedText(waits, 'ACTIVE', 0)).toMatch(/next turn/);
    expect(queuedText(waits, 'ACTIVE', 2)).toMatch(/number 3/);
    expect(queuedText(waits, 'SUSPENDED', 0)).toMatch(/sandbox/);
    expect(queuedText(waits, 'INTERRUPTED', 0)).toMatch(/retry or continue/);
  });
});
