import { z } from 'zod';
import { HangarError, SESSION_ID_PATTERN, SESSION_PART_ID_PATTERN } from '@hangar/contracts';
import type { CheckpointMeta } from '../tool/contract.ts';
import { isObjectId, isRefName } from './ref-names.ts';

/** meta.json comes out of a sandbox: every field is checked before anything uses it (R10, [R4]). */

const PATHS_MAX = 100_000;
const TEXT_MAX = 16_384;

const text = z
  .string()
  .max(TEXT_MAX)
  .refine((value) => !value.includes('\0'), 'a zero byte');
const objectId = z.string().refine(isObjectId, 'not an object id');
const checkpointId = z.string().regex(SESSION_PART_ID_PATTERN);
const sessionId = z.string().regex(SESSION_ID_PATTERN);
const bytes = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const relative = text.refine(
  (value) => value !== '' && !value.startsWith('/') && !value.split('/').includes('..'),
  'not a path inside HOME',
);

const part = z.strictObject({
  name: z.enum([
    'agent.tgz',
    'repo.bundle',
    'wip.patch',
    'untracked.tgz',
    'gitstate',
    'nested',
    'lfs',
    'base.pack',
    'changes.json',
  ]),
  size: bytes,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  codec: z.enum(['none', 'gzip', 'zstd']),
});

const meta = z.object({
  format: z.literal(1),
  checkpoint_id: checkpointId,
  session_id: sessionId,
  reason: z.enum(['turn', 'talk', 'suspend', 'destroy', 'manual', 'interval']),
  created_at: z.iso.datetime(),
  branch: text.nullable(),
  head: objectId.nullable(),
  head_ref: z.string().refine(isRefName, 'not a ref name').nullable(),
  base: objectId.nullable(),
  base_branch: text.nullable(),
  harness: text.nullable(),
  harness_session: text.nullable(),
  cwd: text,
  object_format: z.enum(['sha1', 'sha256', 'none']),
  worktree_tree: objectId.nullable(),
  index_tree: objectId.nullable(),
  prerequisites: z.array(objectId).max(PATHS_MAX),
  conversation_directories: z.array(relative).max(64),
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  complete: z.boolean(),
  skipped: z
    .array(
      z.strictObject({
        path: text,
        bytes,
        reason: z.enum([
          'file_cap',
          'untracked_cap',
          'part_cap',
          'unreadable',
          'special_file',
          'changed_while_read',
        ]),
      }),
    )
    .max(PATHS_MAX),
  warnings: z.array(z.strictObject({ path: text.optional(), reason: text })).max(PATHS_MAX),
  kept: z.strictObject({
    tracked_files: bytes,
    changed_files: bytes,
    untracked_files: bytes,
    untracked_bytes: bytes,
    conversation_files: bytes,
    refs: bytes,
    stashes: bytes,
    nested_repositories: bytes,
  }),
  ignored: z.strictObject({ count: bytes, paths: z.array(text).max(1000) }),
  parts: z.array(part).max(16),
});

/** meta.json of a checkpoint of ours. Throws HangarError `invalid` naming the field. */
export function parseMeta(json: string): CheckpointMeta {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new HangarError('invalid', 'The checkpoint is damaged: meta.json is not JSON.', {
      cause: error,
      hint: 'An older checkpoint of the session may still be restored.',
    });
  }
  const result = meta.safeParse(value);
  if (!result.success) {
    const issue = result.error.issues[0];
    const field = issue?.path.join('.') ?? '';
    throw new HangarError('invalid', `The checkpoint is refused: ${field}: ${issue?.message}.`, {
      hint: 'An older checkpoint of the session may still be restored.',
    });
  }
  const found = result.data;
  const names = found.parts.map((one) => one.name);
  if (new Set(names).size !== names.length) {
    throw new HangarError('invalid', 'The checkpoint is refused: a part is listed twice.');
  }
  return found as CheckpointMeta;
}
