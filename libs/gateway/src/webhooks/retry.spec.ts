import { describe, expect, it } from '@jest/globals';
import { outcomeOf, RETRY_PAUSES_MS } from './retry.ts';

describe('the outcome of a try', () => {
  it.each([200, 201, 202, 204, 299])('is delivered after %i', (status) => {
    expect(outcomeOf(1, status)).toEqual({ kind: 'delivered' });
    expect(outcomeOf(10, status)).toEqual({ kind: 'delivered' });
  });

  it.each([null, 101, 301, 302, 307, 400, 401, 404, 429, 500, 503])(
    'is another try after %p, redirects among them',
    (status) => {
      expect(outcomeOf(1, status)).toEqual({ kind: 'again', afterMs: 5000 });
    },
  );

  it('is the end of the webhook after 410, at any try', () => {
    expect(outcomeOf(1, 410)).toEqual({ kind: 'gone' });
    expect(outcomeOf(10, 410)).toEqual({ kind: 'gone' });
  });

  it('follows the published pauses and is dead after the tenth try', () => {
    const pauses = Array.from({ length: 12 }, (_, i) => outcomeOf(i + 1, 500));
    const minutes = pauses.map((o) => (o.kind === 'again' ? o.afterMs / 60_000 : o.kind));
    const hours = [2, 5, 10, 14, 20, 24].map((hour) => hour * 60);
    expect(minutes).toEqual([5 / 60, 5, 30, ...hours, 'dead', 'dead', 'dead']);
    expect(RETRY_PAUSES_MS).toHaveLength(9);
  });
});
