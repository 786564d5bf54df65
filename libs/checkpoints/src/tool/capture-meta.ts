import type { CaptureReport, CaptureRequest, CheckpointMeta } from './contract.ts';
import type { CapturedParts } from './capture-parts.ts';
import type { PartWriter } from './part-writer.ts';

/** What meta.json says about the repository; all null and empty without one. */
export interface MetaSource {
  fingerprint: string;
  untracked: { ignored: { count: number; paths: string[] } };
  repository: {
    headRef: string | null;
    headId: string | null;
    format: 'sha1' | 'sha256';
  } | null;
}

/** Writes meta.json, which makes the parts a checkpoint, and the report that repeats it. */
export function writeMeta(
  request: CaptureRequest,
  source: MetaSource,
  parts: Omit<CapturedParts, 'trees'> & { trees: { index: string; worktree: string } | null },
  writer: PartWriter,
): CaptureReport {
  const headRef = source.repository?.headRef ?? null;
  const head = source.repository?.headId ?? null;
  const meta: CheckpointMeta = {
    format: 1,
    checkpoint_id: request.checkpoint_id,
    session_id: request.session_id,
    reason: request.reason,
    created_at: new Date().toISOString(),
    branch: headRef === null ? null : headRef.replace(/^refs\/heads\//, ''),
    head,
    head_ref: headRef,
    base: parts.base,
    base_branch: request.base_branch ?? null,
    harness: request.harness ?? null,
    harness_session: request.harness_session ?? null,
    cwd: request.cwd,
    object_format: source.repository?.format ?? 'none',
    worktree_tree: parts.trees?.worktree ?? null,
    index_tree: parts.trees?.index ?? null,
    prerequisites: parts.prerequisites,
    conversation_directories: request.conversation_directories,
    fingerprint: source.fingerprint,
    complete: parts.skipped.length === 0,
    skipped: parts.skipped,
    warnings: parts.warnings,
    kept: parts.kept,
    ignored: source.untracked.ignored,
    parts: [...writer.parts],
  };
  writer.writeMeta(Buffer.from(`${JSON.stringify(meta, null, 1)}\n`));
  return {
    fingerprint: source.fingerprint,
    head,
    head_ref: headRef,
    base: parts.base,
    prerequisites: parts.prerequisites,
    parts: [...writer.parts],
    complete: meta.complete,
    skipped: parts.skipped,
    warnings: parts.warnings,
    kept: parts.kept,
  };
}
