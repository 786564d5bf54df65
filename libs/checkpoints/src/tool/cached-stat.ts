import { lstatSync, type BigIntStats } from 'node:fs';
import { joinPath, toFs } from './byte-path.ts';
import type { CachedStat } from './index-file.ts';

const NANOS = 1_000_000_000n;
const low32 = (value: bigint): number => Number(value & 0xffff_ffffn);

/** With every nanosecond: a git that compares them must find them equal. */
export function readStat(work: string, path: string): CachedStat | null {
  const options = { bigint: true, throwIfNoEntry: false } as const;
  const stat = lstatSync(toFs(joinPath(work, path)), options);
  return stat === undefined || stat.isDirectory() ? null : toCached(stat);
}

const toCached = (stat: BigIntStats): CachedStat => ({
  ctimeSeconds: low32(stat.ctimeNs / NANOS),
  ctimeNanos: Number(stat.ctimeNs % NANOS),
  mtimeSeconds: low32(stat.mtimeNs / NANOS),
  mtimeNanos: Number(stat.mtimeNs % NANOS),
  device: low32(stat.dev),
  inode: low32(stat.ino),
  uid: low32(stat.uid),
  gid: low32(stat.gid),
  size: low32(stat.size),
});
