import { writeEmptyTree } from './capture-parts.ts';
import { collectChanges } from './changes.ts';
import type { ChangesReport, ChangesRequest, FingerprintRequest } from './contract.ts';
import { captureFingerprint } from './capture-files.ts';
import { observe } from './observe.ts';
import { makeScratch, removeScratch } from './shadow.ts';
import { readWorktree, writeIndexTrees, writeWorktreeTrees } from './snapshot-trees.ts';

/** A file larger than this is named without its content in the live view. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

/** The view of changes.json, of this moment. */
export async function changes(request: ChangesRequest): Promise<ChangesReport> {
  const scratch = makeScratch();
  try {
    const home = request.home ?? '/nonexistent';
    const place = { ...request, home, conversation_directories: [] };
    const seen = await observe(place, scratch, { conversions: true });
    if (seen === null) return { base: null, files: [], truncated: false };
    const { shadow, repository, index, tracked } = seen;
    const converted = new Set(seen.conversions.converted);
    const notes = { skipped: [], warnings: [] };
    const content = readWorktree(shadow, tracked, converted, FILE_BYTES_MAX, notes);
    const trees = await writeIndexTrees(shadow, index);
    const { view } = await writeWorktreeTrees(shadow, index, tracked, content, trees.index);
    const head = repository.headId ?? writeEmptyTree(shadow);
    const { base, headTree } = seen.objects;
    return await collectChanges(shadow, {
      base: base ?? (repository.headId === null ? null : head),
      baseId: base,
      head,
      headTree: headTree ?? head,
      index: trees.index,
      view,
      untracked: seen.untracked.files,
    });
  } finally {
    removeScratch(scratch);
  }
}

/** The fingerprint alone: one scan, no content is read. */
export async function fingerprint(request: FingerprintRequest): Promise<{ fingerprint: string }> {
  const scratch = makeScratch();
  try {
    const seen = await observe(request, scratch, { conversions: false });
    return { fingerprint: seen === null ? captureFingerprint(request) : seen.fingerprint };
  } finally {
    removeScratch(scratch);
  }
}
