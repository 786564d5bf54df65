import { describe, expect, it } from '@jest/globals';
import { heldBackMs } from './feed.ts';

describe('the waits for a transaction that holds events back', () => {
  it('begin short and stay bounded', () => {
    const waits: number[] = [];
    for (let last = 0; waits.length < 6; waits.push(last)) last = heldBackMs(last);
    expect(waits).toEqual([1, 2, 4, 8, 10, 10]);
  });
});
