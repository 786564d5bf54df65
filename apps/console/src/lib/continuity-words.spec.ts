import { describe, expect, it } from '@jest/globals';
import type { SessionDocument } from '@hangar/contracts';
import { continuityOf } from './continuity-words.ts';

type Continuity = NonNullable<SessionDocument['continuity']>;
const KEPT = { state: 'kept' };
const ALL_KEPT: Continuity = {
  conversation: KEPT,
  commits: KEPT,
  staged: KEPT,
  unstaged: KEPT,
  untracked: KEPT,
  ignored: KEPT,
  processes: KEPT,
  losses: [],
};

describe('what a resume brought back, in plain words [R2]', () => {
  it('is nothing before the first resume', () => {
    expect(continuityOf(null)).toBeNull();
  });

  it('names what is whole, in part and gone, with the reason', () => {
    const lines = continuityOf({
      ...ALL_KEPT,
      ignored: { state: 'lost', detail: 'not kept by this retention' },
      untracked: { state: 'partly', detail: '1 file was too large' },
      losses: [{ path: 'big.bin', reason: 'larger than 50 MB' }],
    });
    expect(lines).toEqual([
      'Came back whole: the conversation, commits, staged changes, unstaged changes and processes.',
      'Came back in part: untracked files (1 file was too large).',
      'Did not come back: ignored files (not kept by this retention).',
      'Lost: big.bin, larger than 50 MB.',
    ]);
  });
});
