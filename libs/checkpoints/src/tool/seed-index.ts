import { existsSync, lstatSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { joinPath, toFs } from './byte-path.ts';
import { parseIndex, serialiseIndex } from './index-file.ts';
import { readIfThere } from './repository.ts';
import type { RestoreContext } from './restore.ts';
import { ToolError } from './tool-error.ts';

/**
 * The fresh clone's index says what is on disk, so that only what differs is written. Returns
 * whether nobody but git has touched the files since the clone.
 */
export function seedIndex(context: RestoreContext): boolean {
  const from = joinPath(context.repository.gitDirectory, 'index');
  if (!existsSync(toFs(from))) return false;
  const { format } = context.shadow;
  try {
    const file = readFileSync(toFs(from));
    const index = parseIndex(file, format);
    if (index.split || index.sparse) return false;
    const entries = index.entries
      .filter((entry) => entry.stage === 0 && !entry.intentToAdd)
      .map((entry) => ({ ...entry, skipWorktree: false, assumeUnchanged: false }));
    // The times stay comparable: an index that is newer than its files would hide late edits.
    const to = toFs(joinPath(context.shadow.directory, 'index'));
    writeFileSync(to, serialiseIndex(entries, format, null));
    const seconds = Math.floor(lstatSync(toFs(from)).mtimeMs / 1000);
    const settled = isSettled(context.home, file);
    utimesSync(to, settled ? seconds + 1 : seconds, settled ? seconds + 1 : seconds);
    return settled;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    // An index that cannot be read only costs the shortcut: every file is written again.
    return false;
  }
}

/** Bytes at the end of an index that name it; of a longer hash the last ones. */
const INDEX_NAME_BYTES = 20;

/**
 * Whoever cloned wrote down which index it left, when nothing could touch the files since: then
 * those written in the index's own second need not be read again. Good for one restore.
 */
function isSettled(home: string, index: Buffer): boolean {
  const place = toFs(joinPath(home, '.hangar/settled-index'));
  const written = readIfThere(joinPath(home, '.hangar/settled-index'))?.toString('latin1').trim();
  rmSync(place, { force: true });
  return written === index.subarray(-INDEX_NAME_BYTES).toString('hex');
}
