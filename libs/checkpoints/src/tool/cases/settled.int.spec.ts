import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { capture } from '../capture.ts';
import { captureRequest, forgiveTimes, plainClone, restoreScene, stepAside } from './case.ts';
import { look, type Look } from './look.ts';
import { append, chmod, closeScene, git, makeScene, remove, write, type Scene } from './scene.ts';

const marker = (scene: Scene): string => join(scene.home, '.hangar/settled-index');

/** What the clone of a sandbox leaves: the last 20 bytes of its index, in hexadecimal. */
function settle(scene: Scene): void {
  const index = readFileSync(join(scene.work, '.git/index'));
  mkdirSync(join(scene.home, '.hangar'), { recursive: true });
  writeFileSync(marker(scene), index.subarray(-20).toString('hex'));
}

function expectSame(before: Look, after: Look): void {
  forgiveTimes(before, after);
  expect(after).toEqual(before);
}

async function withCheckpoint(play: (scene: Scene) => Promise<void>): Promise<void> {
  const scene = makeScene('session');
  try {
    append(scene, 'b.txt', 'staged\n');
    git(scene, ['add', 'b.txt']);
    append(scene, 'c.txt', 'unstaged\n');
    chmod(scene, 'a.txt', 0o600);
    remove(scene, 'dir2/f.txt');
    write(scene, 'new/file.txt', 'untracked\n');
    await capture(captureRequest(scene));
    await play(scene);
  } finally {
    await closeScene(scene);
  }
}

describe('a restore into a clone that nothing has touched', () => {
  it('gives back every byte, mode and time, and believes the note of the clone once', () =>
    withCheckpoint(async (scene) => {
      const before = look(scene);
      stepAside(scene);
      plainClone(scene);
      settle(scene);
      const report = await restoreScene(scene);
      expect(report.proof).toEqual({ worktree: true, index: true, refs: true });
      expect(report.losses).toEqual([]);
      expectSame(before, look(scene));
      expect(existsSync(marker(scene))).toBe(false);
    }));

  it('reads the files when the index is another than the note names', () =>
    withCheckpoint(async (scene) => {
      const before = look(scene);
      stepAside(scene);
      plainClone(scene);
      settle(scene);
      // The same size in the same second: only a reader of the content notices.
      const place = join(scene.work, '.git/index');
      const index = readFileSync(place);
      const file = join(scene.work, 'a.txt');
      writeFileSync(file, readFileSync(file, 'utf8').replace('line 1', 'LINE 1'));
      writeFileSync(marker(scene), 'f'.repeat(40));
      writeFileSync(place, index);
      utimesSync(place, new Date(), new Date());
      const report = await restoreScene(scene);
      expect(report.losses).toEqual([]);
      expectSame(before, look(scene));
    }));
});
