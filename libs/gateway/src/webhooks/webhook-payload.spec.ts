import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { WEBHOOK_TEXT_CHARACTERS_MAX, type SessionEvents } from '@hangar/contracts';
import { webhookEventOf, webhookPayload, type Heard } from './webhook-payload.ts';

const AT = '2030-01-01T00:00:00.000Z';
const SESSION = { id: 'ses-1a2b3c4d', name: 'csv-fix', owner: 'ada' };
const OF = { session_id: 'ses-1a2b3c4d', session_name: 'csv-fix', owner: 'ada' };
const RAISED: SessionEvents['AttentionRaised'] = {
  card_id: 'card-00000001',
  kind: 'question',
  text: 'Which one?',
  choices: ['a', 'b'],
  since: AT,
};
const raised = (change: Partial<SessionEvents['AttentionRaised']> = {}): Heard => ({
  type: 'AttentionRaised',
  data: { ...RAISED, ...change },
});
const fixture = <T extends Heard['type']>(type: T): Heard => {
  const path = new URL(`../../../contracts/fixtures/${type}.v1.json`, import.meta.url);
  return { type, data: JSON.parse(readFileSync(path, 'utf8')) as never } as Heard;
};

describe('what webhooks hear of', () => {
  it('is cards as attention, ends of turns and failures, and nothing else', () => {
    expect(webhookEventOf('AttentionRaised')).toBe('attention');
    expect(webhookEventOf('AttentionCleared')).toBe('attention');
    expect(webhookEventOf('TurnFinished')).toBe('turn.finished');
    expect(webhookEventOf('SessionFailed')).toBe('session.failed');
    for (const type of ['MessageQueued', 'SessionCreated', 'CardAnswered', 'toString']) {
      expect(webhookEventOf(type)).toBeNull();
    }
  });
});

describe('the payload', () => {
  it('of a card says what is asked, of which session, and where it is answered', () => {
    expect(webhookPayload(raised(), AT, SESSION)).toEqual({
      type: 'card.raised',
      timestamp: AT,
      data: {
        ...OF,
        card: {
          id: 'card-00000001',
          kind: 'question',
          text: 'Which one?',
          choices: ['a', 'b'],
          since: AT,
        },
        answer_path: '/api/sessions/ses-1a2b3c4d/cards/card-00000001/answer',
      },
    });
  });

  it.each([
    ['question', true],
    ['decision', true],
    ['interrupted', false],
    ['lost_state', false],
    ['limit', false],
    ['delivery_failed', false],
  ])('of a card of kind %s has a way to answer: %p [A1]', (kind, hasOne) => {
    const payload = webhookPayload(raised({ kind }), AT, SESSION);
    expect(payload).toMatchObject({ type: 'card.raised', data: { card: { kind } } });
    expect(JSON.stringify(payload).includes('/answer')).toBe(hasOne);
  });

  it('of a card that was cleared shows the card as it was raised, and why it went', () => {
    const cleared = fixture('AttentionCleared');
    expect(webhookPayload(cleared, AT, SESSION, RAISED)).toMatchObject({
      type: 'card.cleared',
      data: { ...OF, card: { id: 'card-00000001', text: 'Which one?' }, reason: 'retried' },
    });
    expect(webhookPayload(cleared, AT, SESSION)).toBeNull();
  });

  it('of a turn and of a failure says how it ended', () => {
    const turn = fixture('TurnFinished') as Extract<Heard, { type: 'TurnFinished' }>;
    expect(webhookPayload(turn, AT, SESSION)).toEqual({
      type: 'turn.finished',
      timestamp: AT,
      data: {
        ...OF,
        turn: turn.data.turn,
        outcome: turn.data.outcome,
        summary: turn.data.summary,
        error: turn.data.error ?? null,
      },
    });
    const failed = fixture('SessionFailed') as Extract<Heard, { type: 'SessionFailed' }>;
    const { phase, reason } = failed.data;
    expect(webhookPayload(failed, AT, SESSION)).toMatchObject({
      type: 'session.failed',
      data: { ...OF, phase, reason },
    });
  });

  it('hides what looks like a token, in every text [Z2]', () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const sent = JSON.stringify([
      webhookPayload(raised({ text: `use ${token}?`, choices: [token] }), AT, SESSION),
      webhookPayload(
        { type: 'AttentionCleared', data: { card_id: 'card-00000001', reason: token } },
        AT,
        SESSION,
        RAISED,
      ),
      webhookPayload(
        { type: 'SessionFailed', data: { reason: token, phase: 'setup', failed_at: AT } },
        AT,
        SESSION,
      ),
    ]);
    expect(sent).not.toContain(token);
    expect(sent.match(/redacted/g)?.length).toBeGreaterThanOrEqual(4);
  });

  it('is bounded: long texts and many choices are cut, whole characters stay', () => {
    const choices = Array.from({ length: 500 }, () => 'y'.repeat(9000));
    const long = raised({ text: '😀'.repeat(200_000), choices });
    const payload = webhookPayload(long, AT, SESSION) as { data: { card: { text: string } } };
    expect(payload.data.card.text.length).toBeLessThanOrEqual(WEBHOOK_TEXT_CHARACTERS_MAX);
    expect(payload.data.card.text.endsWith('…')).toBe(true);
    expect(JSON.stringify(payload).length).toBeLessThan(10_000);
    expect(payload.data.card.text.isWellFormed()).toBe(true);
  });
});
