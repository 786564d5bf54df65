/**
 * The contract of `hangar-checkpoint.mjs`: one JSON request on stdin, one JSON report on stdout.
 * Names are snake_case because they cross a process border. Paths in reports are percent-encoded
 * where they are not UTF-8 (and `%` itself always is `%25`), so that a report is plain JSON.
 */

export type CheckpointReason = 'turn' | 'talk' | 'suspend' | 'destroy' | 'manual' | 'interval';

/** `none` for parts that are compressed by themselves or documented as plain. */
export type PartCodec = 'none' | 'gzip' | 'zstd';

export type PartName =
  | 'agent.tgz'
  | 'repo.bundle'
  | 'wip.patch'
  | 'untracked.tgz'
  | 'meta.json'
  | 'gitstate'
  | 'nested'
  | 'lfs'
  | 'base.pack'
  | 'changes.json';

/** All in bytes. A cap never drops a whole part: see `docs/formats/checkpoint.md`. */
export interface CaptureCaps {
  /** One stored part (SPEC: `session_max_part_mb`). */
  part_bytes_max: number;
  /** `untracked.tgz` as stored (SPEC: `session_max_untracked_mb`). */
  untracked_bytes_max: number;
  /** One file, as allocated on disk. */
  file_bytes_max: number;
  /** What one tar part may unpack to; the same number is checked before a restore. */
  unpacked_bytes_max: number;
}

export interface CaptureRequest {
  format: 1;
  checkpoint_id: string;
  session_id: string;
  reason: CheckpointReason;
  work: string;
  home: string;
  /** Directory that receives the parts; made when missing. */
  out: string;
  /** Relative to `home`; nothing else of HOME is read ([C7]). */
  conversation_directories: string[];
  base_branch?: string;
  harness?: string;
  harness_session?: string;
  cwd: string;
  caps: CaptureCaps;
  unless_fingerprint?: string;
  /** Prerequisites that a base.pack of this session already covers. */
  known_base?: string[];
  zstd: boolean;
}

export interface PartEntry {
  /** Also the file's name in `out`. */
  name: PartName;
  size: number;
  sha256: string;
  codec: PartCodec;
}

export type SkipReason =
  | 'file_cap'
  | 'untracked_cap'
  | 'part_cap'
  | 'unreadable'
  | 'special_file'
  | 'changed_while_read';

/** Content that should have been kept and is not; any entry makes `complete` false. */
export interface SkippedEntry {
  path: string;
  bytes: number;
  reason: SkipReason;
}

/** Something a checkpoint does not keep by its nature, or kept with a difference. */
export interface WarningEntry {
  path?: string;
  reason: string;
}

export interface KeptCounts {
  tracked_files: number;
  changed_files: number;
  untracked_files: number;
  untracked_bytes: number;
  conversation_files: number;
  refs: number;
  stashes: number;
  nested_repositories: number;
}

export interface UnchangedReport {
  unchanged: true;
  fingerprint: string;
}

export interface CaptureReport {
  unchanged?: false;
  fingerprint: string;
  /** Commit id, or null on an unborn branch or without a repository. */
  head: string | null;
  /** `refs/heads/x`, or null when HEAD is detached. */
  head_ref: string | null;
  base: string | null;
  prerequisites: string[];
  parts: PartEntry[];
  complete: boolean;
  skipped: SkippedEntry[];
  warnings: WarningEntry[];
  kept: KeptCounts;
}

/** The content of meta.json, written last. */
export interface CheckpointMeta {
  format: 1;
  checkpoint_id: string;
  session_id: string;
  reason: CheckpointReason;
  created_at: string;
  /** Short branch name as documented (seed 000, 5.2), null when detached. */
  branch: string | null;
  head: string | null;
  head_ref: string | null;
  base: string | null;
  base_branch: string | null;
  harness: string | null;
  harness_session: string | null;
  cwd: string;
  /** `none` when the work directory is not a repository. */
  object_format: 'sha1' | 'sha256' | 'none';
  worktree_tree: string | null;
  index_tree: string | null;
  prerequisites: string[];
  conversation_directories: string[];
  fingerprint: string;
  complete: boolean;
  skipped: SkippedEntry[];
  warnings: WarningEntry[];
  kept: KeptCounts;
  /** Ignored paths that were there (bounded list), so that a resume can say what is missing. */
  ignored: { count: number; paths: string[] };
  parts: PartEntry[];
}

/** Meta of a checkpoint that has only the documented five parts. */
export type RestoreMeta = Partial<CheckpointMeta> & { head: string | null };

export interface RestoreRequest {
  format: 1;
  work: string;
  home: string;
  /** Directory with the parts, already decrypted and archive-checked. */
  parts: string;
  meta: RestoreMeta;
  /** Whether `git fetch` from the clone's origin is allowed. */
  remote?: boolean;
  conversation_directories: string[];
  unpacked_bytes_max?: number;
}

export interface ContinuityState {
  state: 'kept' | 'partly' | 'lost';
  detail?: string;
}

export type ContinuityPart =
  | 'conversation'
  | 'commits'
  | 'staged'
  | 'unstaged'
  | 'untracked'
  | 'ignored'
  | 'processes';

export interface RestoreReport {
  continuity: Record<ContinuityPart, ContinuityState>;
  losses: WarningEntry[];
  head: string | null;
  head_ref: string | null;
  /** Recomputed after the restore and compared with what was recorded. */
  proof: { worktree: boolean; index: boolean; refs: boolean };
}

export interface FingerprintRequest {
  format: 1;
  work: string;
  home: string;
  conversation_directories: string[];
  base_branch?: string;
}

export interface FingerprintReport {
  fingerprint: string;
}

export interface ChangesRequest {
  format: 1;
  work: string;
  home?: string;
  base_branch?: string;
}

export type ChangeArea = 'committed' | 'staged' | 'unstaged' | 'untracked';

export interface ChangedFile {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'type_changed';
  area: ChangeArea;
  binary: boolean;
  /** Unified diff; null when binary, or past the bounds of this view. */
  diff: string | null;
}

/** At most 5 MiB of JSON. `truncated` says that files or diffs were left out. */
export interface ChangesReport {
  base: string | null;
  files: ChangedFile[];
  truncated: boolean;
}

export type ToolErrorCode =
  | 'invalid'
  | 'base_gone'
  | 'corrupt'
  | 'refused'
  | 'unsupported'
  | 'time_limit'
  | 'internal';

export interface ErrorReport {
  error: { code: ToolErrorCode; message: string };
}
