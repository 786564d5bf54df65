import {
  existsSync,
  lstatSync,
  readFileSync,
  readdirSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { joinPath, toFs } from './byte-path.ts';
import { parseIndex, serialiseIndex } from './index-file.ts';
import type { RestoreContext } from './restore.ts';
import { ToolError } from './tool-error.ts';

/** A clone without a checkout: all that will be there, the restore has written itself. */
export const isWithoutFiles = ({ work, repository }: RestoreContext): boolean =>
  readdirSync(toFs(work)).every((name) => name === '.git') &&
  !existsSync(toFs(joinPath(repository.gitDirectory, 'index')));

/** The fresh clone's index says what is on disk, so that only what differs is written. */
export function seedIndex(context: RestoreContext): void {
  const from = joinPath(context.repository.gitDirectory, 'index');
  if (!existsSync(toFs(from))) return;
  const { format } = context.shadow;
  try {
    const index = parseIndex(readFileSync(toFs(from)), format);
    if (index.split || index.sparse) return;
    const entries = index.entries
      .filter((entry) => entry.stage === 0 && !entry.intentToAdd)
      .map((entry) => ({ ...entry, skipWorktree: false, assumeUnchanged: false }));
    // The times stay comparable: an index that is newer than its files would hide late edits.
    const to = toFs(joinPath(context.shadow.directory, 'index'));
    writeFileSync(to, serialiseIndex(entries, format, null));
    const seconds = Math.floor(lstatSync(toFs(from)).mtimeMs / 1000);
    utimesSync(to, seconds, seconds);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    // An index that cannot be read only costs the shortcut: every file is written again.
  }
}
