import { describe, expect, it } from '@jest/globals';
import type { CheckpointMeta } from '../tool/contract.ts';
import { parseMeta } from './meta.ts';

const GOOD: CheckpointMeta = {
  format: 1,
  checkpoint_id: 'ckp-1a2b3c4d-3',
  session_id: 'ses-1a2b3c4d',
  reason: 'turn',
  created_at: '2026-11-30T12:00:00.000Z',
  branch: 'main',
  head: 'a'.repeat(40),
  head_ref: 'refs/heads/main',
  base: null,
  base_branch: 'main',
  harness: 'codex',
  harness_session: null,
  cwd: '/workspace/x',
  object_format: 'sha1',
  worktree_tree: 'b'.repeat(40),
  index_tree: 'b'.repeat(40),
  prerequisites: [],
  conversation_directories: ['.codex/sessions'],
  fingerprint: 'c'.repeat(64),
  complete: true,
  skipped: [],
  warnings: [],
  kept: {
    tracked_files: 1,
    changed_files: 0,
    untracked_files: 0,
    untracked_bytes: 0,
    conversation_files: 0,
    refs: 1,
    stashes: 0,
    nested_repositories: 0,
  },
  ignored: { count: 0, paths: [] },
  parts: [{ name: 'repo.bundle', size: 1, sha256: 'd'.repeat(64), codec: 'none' }],
};

describe('meta.json', () => {
  it('of a good checkpoint is taken as it is', () => {
    expect(parseMeta(JSON.stringify(GOOD))).toEqual(GOOD);
  });

  const bad: [string, object][] = [
    ['an option for a head', { head: '--upload-pack=x' }],
    ['a climbing ref', { head_ref: 'refs/heads/../x' }],
    ['a foreign id', { session_id: '../../etc' }],
    ['another format', { format: 2 }],
    ['an unknown part', { parts: [{ ...GOOD.parts[0], name: '../x' }] }],
    ['a part twice', { parts: [GOOD.parts[0], GOOD.parts[0]] }],
    ['a bad hash', { parts: [{ ...GOOD.parts[0], sha256: 'x' }] }],
    ['a negative size', { parts: [{ ...GOOD.parts[0], size: -1 }] }],
    ['a conversation outside HOME', { conversation_directories: ['../..'] }],
    ['a zero byte', { cwd: '/a\0b' }],
  ];
  it.each(bad)('is refused with %s, with a message for a person', (_, change) => {
    expect(() => parseMeta(JSON.stringify({ ...GOOD, ...change }))).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: expect.stringMatching(/^The checkpoint/),
      }),
    );
  });

  it('is refused when it is not JSON', () => {
    expect(() => parseMeta('{')).toThrow(expect.objectContaining({ code: 'invalid' }));
  });
});
