import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { capture } from '../capture.ts';
import { restore } from '../restore.ts';
import {
  archiveCases,
  evilCommit,
  listVictim,
  moreArchiveCases,
  type ArchiveCase,
} from './archive.ts';
import {
  captureRequest,
  CONVERSATIONS,
  plainClone,
  readMeta,
  restoreScene,
  stepAside,
} from './case.ts';
import { listGitDirectory, look, type Look } from './look.ts';
import {
  append,
  closeScene,
  commit,
  git,
  makeScene,
  readCanary,
  write,
  type Scene,
} from './scene.ts';

const UNPACKED_BYTES_MAX = 16 * 1024 * 1024;

function edits(scene: Scene): void {
  append(scene, 'a.txt', 'committed\n');
  commit(scene, 'work');
  append(scene, 'b.txt', 'edited\n');
  write(scene, 'new.txt', 'untracked\n');
}

const restoreWith = (scene: Scene) =>
  restore({
    format: 1,
    work: scene.work,
    home: scene.home,
    parts: scene.parts,
    meta: readMeta(scene),
    conversation_directories: CONVERSATIONS,
    unpacked_bytes_max: UNPACKED_BYTES_MAX,
  });

interface Fresh {
  files: Record<string, string>;
  git: string[];
}

async function expectUnused(scene: Scene): Promise<void> {
  const report = await restoreWith(scene);
  expect(report.proof.worktree).toBe(true);
  git(scene, ['status']);
}

/** The typed error, and nothing written to the checkout or to HOME. */
async function expectRefused(scene: Scene, one: ArchiveCase, fresh: Fresh): Promise<void> {
  const refusal = restoreWith(scene);
  await expect(refusal).rejects.toMatchObject({ code: one.code });
  await expect(refusal).rejects.toThrow(one.message ?? /./);
  expect(look(scene).files).toEqual(fresh.files);
  const after = listGitDirectory(scene).filter((line) => !line.includes('/objects/'));
  expect(after).toEqual(fresh.git.filter((line) => !line.includes('/objects/')));
  expect(existsSync(join(scene.home, '.bashrc'))).toBe(false);
  expect(existsSync(join(scene.home, '.claude'))).toBe(false);
}

/** A fresh clone beside a good checkpoint: made once, and had anew at the same paths by each case. */
interface Prepared {
  scene: Scene;
  before: Look;
  files: Look['files'];
  kept: string;
}

let prepared: Promise<Prepared> | undefined;

async function prepare(): Promise<Prepared> {
  const scene = makeScene('session');
  edits(scene);
  const before = look(scene);
  await capture(captureRequest(scene));
  cpSync(scene.parts, join(scene.root, 'good'), { recursive: true });
  stepAside(scene);
  plainClone(scene);
  const { files } = look(scene);
  const kept = `${scene.root}.kept`;
  renameSync(scene.root, kept);
  return { scene, before, files, kept };
}

afterAll(async () => {
  if (prepared) rmSync((await prepared).kept, { recursive: true, force: true });
});

async function play(one: ArchiveCase): Promise<'refused' | 'unused'> {
  const { scene, before, kept, ...made } = await (prepared ??= prepare());
  try {
    execFileSync('cp', ['-a', kept, scene.root]);
    git(scene, ['update-index', '-q', '--refresh']);
    const fresh = { files: made.files, git: listGitDirectory(scene) };
    one.tamper(scene);
    await (one.code === undefined ? expectUnused(scene) : expectRefused(scene, one, fresh));
    expect(listVictim(scene)).toEqual([]);
    expect(readCanary(scene)).toBe('');
    // The clone is good for another checkpoint.
    rmSync(scene.parts, { recursive: true });
    cpSync(join(scene.root, 'good'), scene.parts, { recursive: true });
    await restoreScene(scene);
    const { files, status, index, refs } = look(scene);
    expect(files).toMatchObject({ 'b.txt': expect.stringContaining('file 644 94') });
    expect({ status, index, refs }).toEqual({
      status: before.status,
      index: before.index,
      refs: before.refs,
    });
    expect(readCanary(scene)).toBe('');
    return one.code === undefined ? 'unused' : 'refused';
  } finally {
    await closeScene(scene);
  }
}

function playArchives(group: string, cases: readonly ArchiveCase[]): void {
  let passed = 0;
  for (const one of cases) {
    it(`${one.name}`, async () => {
      expect(await play(one)).toMatch(/^(?:refused|unused)$/);
      passed++;
    });
  }
  afterAll(() => {
    process.stdout.write(`${group}: ${passed} of ${cases.length} states refused or unused
`);
  });
}

describe('archive', () => {
  playArchives('archive', archiveCases);
});

describe('archive, beyond the list', () => {
  playArchives('archive, beyond the list', moreArchiveCases);
});

describe('hostile objects', () => {
  it('hostile_index_objects', async () => {
    const scene = makeScene('session');
    try {
      edits(scene);
      const before = look(scene);
      await capture(captureRequest(scene));
      const older = join(scene.root, 'older');
      cpSync(scene.parts, older, { recursive: true });
      // A commit and an index entry that would write into the git directory of a checkout.
      const evil = evilCommit(scene, scene.work, '.git');
      git(scene, ['update-ref', 'HEAD', evil]);
      await capture(captureRequest(scene));
      stepAside(scene);
      plainClone(scene);
      await expect(restoreScene(scene)).rejects.toMatchObject({ code: 'refused' });
      rmSync(scene.parts, { recursive: true });
      cpSync(older, scene.parts, { recursive: true });
      const report = await restoreScene(scene);
      expect(report.proof).toEqual({ worktree: true, index: true, refs: true });
      expect(look(scene).status).toEqual(before.status);
      expect(readCanary(scene)).toBe('');
    } finally {
      await closeScene(scene);
    }
  });
});
