import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Room for the trees of one bench: four checkouts, a mirror, and 100,000 small files twice. */
const TMPFS_SIZE = '6g';

export interface Place {
  directory: string;
  /** What kind of file system it is, for the table. */
  kind: string;
  dispose(): void;
}

/**
 * A directory for trees of many files. On a tmpfs of its own where that is possible: the inode
 * allocator of some disks takes ten times longer than all the rest, and would be what is measured.
 */
export function openPlace(): Place {
  const directory = mkdtempSync(join(tmpdir(), 'hangar-bench-'));
  chmodSync(directory, 0o755);
  const isMounted = mountTmpfs(directory);
  return {
    directory,
    kind: isMounted ? 'tmpfs' : 'disk',
    dispose: () => {
      if (isMounted) execFileSync('umount', ['--lazy', directory]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function mountTmpfs(directory: string): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    const options = `size=${TMPFS_SIZE},mode=0755`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'hangar-bench', directory], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    // A container may forbid it; then everything is measured on the disk, like with like.
    return false;
  }
}
