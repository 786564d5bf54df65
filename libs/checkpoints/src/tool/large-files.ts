import { statSync } from 'node:fs';
import { joinPath, toFs } from './byte-path.ts';
import type { Repository } from './repository.ts';
import type { Roots } from './roots.ts';
import type { Shadow } from './shadow.ts';

/** A git-lfs pointer is smaller than this (git-lfs specification: "less than 1024 bytes"). */
const POINTER_BYTES_MAX = 1024;
const POINTER_ID = /^oid sha256:([0-9a-f]{64})$/gm;

/**
 * Objects of git-lfs that only this sandbox has: those that pointers in the bundle name and that are
 * in `.git/lfs/objects` (R13). Paths below the common git directory.
 */
export async function findLargeObjects(
  shadow: Shadow,
  repository: Repository,
  roots: Roots,
): Promise<string[]> {
  const store = joinPath(repository.commonDirectory, 'lfs/objects');
  if (!statSync(toFs(store), { throwIfNoEntry: false })?.isDirectory()) return [];
  const lines = [...roots.refs.map((ref) => ref.name), ...roots.excluded.map((id) => `^${id}`)];
  const listed = await shadow.git(['rev-list', '--objects', '--stdin'], {
    input: `${lines.join('\n')}\n`,
  });
  const ids = listed.stdout
    .toString('latin1')
    .split('\n')
    .map((line) => line.split(' ')[0]!);
  const checked = await shadow.git(
    ['cat-file', '--buffer', '--batch-check=%(objecttype) %(objectsize) %(objectname)'],
    { input: `${ids.filter((id) => id !== '').join('\n')}\n` },
  );
  const small = checked.stdout
    .toString('latin1')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([type, size]) => type === 'blob' && Number(size) < POINTER_BYTES_MAX)
    .map(([, , id]) => id!);
  if (small.length === 0) return [];
  const { stdout } = await shadow.git(['cat-file', '--buffer', '--batch'], {
    input: `${small.join('\n')}\n`,
  });
  const found = new Set<string>();
  for (const [, id] of stdout.toString('latin1').matchAll(POINTER_ID)) {
    const path = `lfs/objects/${id!.slice(0, 2)}/${id!.slice(2, 4)}/${id}`;
    if (statSync(toFs(joinPath(repository.commonDirectory, path)), { throwIfNoEntry: false })) {
      found.add(path);
    }
  }
  return [...found].sort();
}
