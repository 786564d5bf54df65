import { chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { capture } from './capture.ts';
import type { CaptureReport } from './contract.ts';
import { IndexTable } from './index-table.ts';
import { readState } from './cases/archive.ts';
import { captureRequest } from './cases/case.ts';
import { closeScene, git, makeScene, write, type Scene } from './cases/scene.ts';

/** As if the files of a scene were older than the rule for what may change unseen asks for. */
const LATER_MS = 60_000;
/** In front of the entries: four letters and a hash. */
const HEAD_BYTES = 4 + 32;

describe('what a capture leaves for the next', () => {
  let scene: Scene;
  let file = '';
  beforeEach(() => {
    scene = makeScene('session');
    file = join(scene.home, '.hangar/known-files');
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + LATER_MS);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await closeScene(scene);
  });

  const take = async (): Promise<CaptureReport> => {
    const report = await capture(captureRequest(scene));
    if (report.unchanged === true) throw new Error('nothing was taken');
    return report;
  };
  const modes = (): [string, number][] =>
    readState(scene).modes.filter(([path]) => path === 'a.txt');
  const changedSecond = (path: string): number => Math.floor(statSync(path).ctimeMs / 1000);
  /** git tells no change within the second that the index has of a file; a file's clock runs behind. */
  const nextSecond = async (): Promise<void> => {
    const probe = join(scene.root, 'probe');
    const before = changedSecond(join(scene.work, 'a.txt'));
    for (writeFileSync(probe, ''); changedSecond(probe) <= before; chmodSync(probe, 0o600)) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };

  it('is believed while git finds nothing changed', async () => {
    chmodSync(join(scene.work, 'a.txt'), 0o600);
    git(scene, ['status']);
    await take();
    expect(modes()).toEqual([['a.txt', 0o600]]);
    const left = readFileSync(file);
    const index = new IndexTable(readFileSync(join(scene.work, '.git/index')), 'sha1');
    left.fill(1, HEAD_BYTES + index.end, HEAD_BYTES + index.end + index.count);
    writeFileSync(file, left);
    await take();
    expect(modes()).toEqual([]);
  });

  it('hides nothing that has changed since', async () => {
    await take();
    const left = readFileSync(file);
    expect(modes()).toEqual([]);
    await take();
    expect(readFileSync(file)).toEqual(left);
    await nextSecond();
    chmodSync(join(scene.work, 'a.txt'), 0o600);
    linkSync(join(scene.work, 'b.txt'), join(scene.work, 'dir2/link.txt'));
    write(scene, 'dir/beside.txt', 'new\n');
    const { warnings, kept } = await take();
    expect(modes()).toEqual([['a.txt', 0o600]]);
    expect(warnings).toContainEqual(expect.objectContaining({ path: 'b.txt' }));
    expect(kept.untracked_files).toBe(2);
  });

  it('knows a name that leaves the index for one beside it, in a directory that did not change', async () => {
    await take();
    git(scene, ['rm', '-q', '--cached', 'dir2/f.txt']);
    expect((await take()).kept.untracked_files).toBe(1);
  });

  it('counts for nothing when it is damaged, cut or of another place', async () => {
    await take();
    const left = readFileSync(file);
    chmodSync(join(scene.work, 'a.txt'), 0o600);
    const elsewhere = Buffer.from(left);
    elsewhere[10] = elsewhere[10]! ^ 1;
    const bad = [left.subarray(0, 60), Buffer.alloc(left.length, 1), elsewhere, Buffer.alloc(0)];
    for (const content of bad) {
      writeFileSync(file, content);
      await take();
      expect(modes()).toEqual([['a.txt', 0o600]]);
    }
  });

  it('is done without where it cannot be written', async () => {
    rmSync(join(scene.home, '.hangar'), { recursive: true, force: true });
    writeFileSync(join(scene.home, '.hangar'), 'a file');
    await expect(take()).resolves.toMatchObject({ complete: true });
  });
});
