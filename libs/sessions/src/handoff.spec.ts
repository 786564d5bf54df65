import { describe, expect, it } from '@jest/globals';
import { HANDOFF_BYTES_MAX } from '@hangar/contracts';
import { clip } from '@hangar/contracts';
import { handoffText } from './handoff.ts';
import { NOTES_MAX, NOTE_CHARACTERS_MAX, withNotes } from './evolve/parts.ts';
import type { Session, Turn } from './session.ts';
import { sessionAfter, story } from './testing/stories.ts';

const saved = sessionAfter(story('IDLE, saved'));
const turns = (count: number, text: string): Session => ({
  ...saved,
  turns: Array.from(
    { length: count },
    (_, i) => ({ ...saved.turns[0], number: i + 1, message: text, summary: text }) as Turn,
  ),
});
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

describe('the handoff', () => {
  it('is empty before the first turn, and while the first turn runs', () => {
    expect(handoffText(sessionAfter(story('IDLE')))).toBe('');
    expect(handoffText(sessionAfter(story('ACTIVE, running')))).toBe('');
  });

  it('has the original task, each turn’s message and summary, and the branch [R3]', () => {
    const text = handoffText(saved);
    for (const part of ['Original task: please msg-1', 'did turn 1', 'hangar/session/fix-login'])
      expect(text).toContain(part);
  });

  it.each([
    ['many turns', turns(500, 'a'.repeat(1500))],
    ['letters of several bytes', turns(500, '漢'.repeat(3000))],
    ['emoji', turns(500, '👩‍🚀'.repeat(3000))],
  ])('%s: bounded in bytes, the newest turns stay, the rest is counted', (_name, s) => {
    const text = handoffText(s);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(HANDOFF_BYTES_MAX);
    expect(text).toContain('Turn 500 ');
    expect(text).toMatch(/\(\d+ earlier turns are left out\.\)/);
    expect(text).not.toMatch(LONE_SURROGATE);
  });
});

describe('a clipped text', () => {
  it.each([0, 1, 2, 3, 4])('of emoji at %i is well formed', (max) => {
    expect(clip('👍👍👍', max)).not.toMatch(LONE_SURROGATE);
  });

  it('stays as it is when it is clipped again', () => {
    const once = clip('a'.repeat(5000), 2000);
    expect(clip(once, 2000)).toBe(once);
  });

  it('is itself when it fits', () => {
    expect(clip('abc', 3)).toBe('abc');
  });
});

describe('notes for the agent', () => {
  it('are bounded in number and length, and each is there once', () => {
    const lines = Array.from({ length: 200 }, (_, i) => `${i}\n`.repeat(4000));
    const notes = withNotes([], [...lines, ...lines]);
    expect(notes).toHaveLength(NOTES_MAX);
    for (const note of notes) expect(note.length).toBeLessThan(NOTE_CHARACTERS_MAX + 40);
    expect(notes.join('')).not.toContain('\n');
  });
});
