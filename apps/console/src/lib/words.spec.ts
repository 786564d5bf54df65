import { describe, expect, it } from '@jest/globals';
import { sessionNameSchema, type EventDocument } from '@hangar/contracts';
import { answersOf, isAnswered } from './card-answers.ts';
import { actorText, eventText, sessionVersionAt } from './event-words.ts';
import { bytesText, costText, countText, usageText } from './quantities.ts';
import { repoText } from './repo-text.ts';
import { slugOf } from './slug.ts';
import { ago, lasting, minutesText } from './time.ts';

const AT = '2026-11-30T12:00:00.000Z';
const after = (seconds: number): number => Date.parse(AT) + seconds * 1000;

describe('times and quantities as people read them', () => {
  it.each([
    [-5, 'now'],
    [59, 'now'],
    [60, '1 min ago'],
    [3_599, '59 min ago'],
    [3_600, '1 h ago'],
    [86_400 * 29, '29 d ago'],
    [86_400 * 31, '2026-11-30'],
  ])('%i s later: %s', (seconds, text) => {
    expect(ago(AT, after(seconds))).toBe(text);
  });

  it.each([
    [8, '8 s'],
    [250, '4 min 10 s'],
    [7_500, '2 h 5 min'],
    [7_200, '2 h'],
    [-3, '0 s'],
  ])('lasting %i s: %s', (seconds, text) => {
    expect(lasting(AT, after(seconds))).toBe(text);
  });

  it('minutes, bytes, tokens and money', () => {
    expect([15, 120, 0].map(minutesText)).toEqual(['15 min', '2 h', 'kept until you suspend it']);
    expect([0, 999, 12_400, 3_100_000].map(bytesText)).toEqual([
      '0 B',
      '999 B',
      '12.4 kB',
      '3.1 MB',
    ]);
    expect([950, 12_400, 3_100_000].map(countText)).toEqual(['950', '12.4k', '3.1M']);
    expect([0, 0.003, 1.5].map(costText)).toEqual(['$0.00', '$0.0030', '$1.50']);
    const usage = { input_tokens: 10, output_tokens: 2, cached_tokens: 0 };
    expect(usageText(usage)).toBe('10 tokens in, 2 out');
  });
});

describe('names', () => {
  it.each(['Fix the CSV export!', 'Über-Straße 7', '--a--', 'x'.repeat(200), 'ses-1234'])(
    'made of %j are allowed',
    (text) => {
      expect(sessionNameSchema.safeParse(slugOf(text)).success).toBe(true);
    },
  );

  it('of nothing that can be used are empty', () => {
    expect(slugOf('???')).toBe('');
  });

  it.each([
    ['https://example.org/acme/app.git', 'acme/app'],
    ['git@example.org:acme/app', 'acme/app'],
    ['/srv/app.git/', 'srv/app'],
    [null, null],
  ])('of the repository %s: %s', (repo, text) => {
    expect(repoText(repo)).toBe(text);
  });
});

describe('answers to a card [A1]', () => {
  const questions = [{ id: 'q1' }, { id: 'q2' }];

  it('are labels, own words, or both, and each question needs one', () => {
    const chosen = {
      q1: { labels: ['A', 'B'], text: ' and C ' },
      q2: { labels: [], text: ' ' },
    };
    expect(answersOf(questions, chosen)).toEqual({ q1: 'A, B, and C', q2: '' });
    expect(isAnswered(questions, chosen)).toBe(false);
    expect(isAnswered(questions, { ...chosen, q2: { labels: ['x'], text: '' } })).toBe(true);
  });
});

describe('events of the log [L1]', () => {
  it('are told in words', () => {
    expect(eventText('TurnFinished')).toBe('Turn finished');
    expect(actorText('service:runs')).toBe('hangar (runs)');
  });

  it('belong to the version that the session had then', () => {
    const event = (id: string, stream: string, version: number): EventDocument =>
      ({ id, stream, version }) as EventDocument;
    const newestFirst = [
      event('d', 'session/ses-1', 9),
      event('c', 'run/run-1', 4),
      event('b', 'session/ses-1', 8),
      event('a', 'run/run-1', 3),
    ];
    const versions = newestFirst.map((each) => sessionVersionAt(newestFirst, each));
    expect(versions).toEqual([9, 8, 8, null]);
  });
});
