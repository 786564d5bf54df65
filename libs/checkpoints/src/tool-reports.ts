import { z } from 'zod';
import type { Continuity, Omission } from '@hangar/contracts';
import { ToolRefusal } from './sandbox-tool.ts';
import type { CaptureReport, ChangesReport, PartName, UnchangedReport } from './tool/contract.ts';

/**
 * Reports of the tool come out of a sandbox in which an agent may do what it likes: every field is
 * checked before anything uses it [R4]. What is not as the contract says is refused, and trying
 * again would give the same. Unknown fields are left out.
 */

/** Of entries that a report lists: more files than any checkout has that can be worked on. */
const ENTRIES_MAX = 1_000_000;
/** Commits that a bundle builds on; a work has one or two, whatever its history is. */
const PREREQUISITES_MAX = 10_000;
const CHARACTERS_MAX = 64 * 1024;
/** A part that no cap is for is a description: of refs, of paths, of changes. */
const DESCRIPTION_BYTES_MAX = 64 * 1024 * 1024;
/** Commits are never left out of a checkpoint, so only what a machine can hold bounds these two. */
const HISTORY_BYTES_MAX = 64 * 1024 ** 3;
/** Omissions told in an event, and how much of each: an event carries 512 KiB. */
const OMISSIONS_MAX = 100;
const OMISSION_CHARACTERS_MAX = 500;

const PART_NAMES = [
  'agent.tgz',
  'repo.bundle',
  'wip.patch',
  'untracked.tgz',
  'meta.json',
  'gitstate',
  'nested',
  'lfs',
  'base.pack',
  'changes.json',
] as const satisfies readonly PartName[];

const text = z.string().max(CHARACTERS_MAX);
const count = z.int().nonnegative();
const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const part = z.object({
  name: z.enum(PART_NAMES),
  size: count.max(HISTORY_BYTES_MAX),
  sha256,
  codec: z.enum(['none', 'gzip', 'zstd']),
});

const skipped = z.object({
  path: text,
  bytes: count,
  reason: z.enum([
    'file_cap',
    'untracked_cap',
    'part_cap',
    'unreadable',
    'special_file',
    'changed_while_read',
  ]),
});
const warning = z.object({ path: text.optional(), reason: text });

const unchangedReport = z.object({ unchanged: z.literal(true), fingerprint: sha256 });

const captureReport = z.object({
  unchanged: z.literal(false).optional(),
  fingerprint: sha256,
  head: objectId.nullable(),
  head_ref: text.nullable(),
  base: objectId.nullable(),
  prerequisites: z.array(objectId).max(PREREQUISITES_MAX),
  parts: z.array(part).max(PART_NAMES.length),
  complete: z.boolean(),
  skipped: z.array(skipped).max(ENTRIES_MAX),
  warnings: z.array(warning).max(ENTRIES_MAX),
});

export type Capture = Omit<CaptureReport, 'kept'>;

/** `unlessFingerprint`: what the request named; without it nothing can be unchanged. */
export function readCaptureReport(
  report: unknown,
  asked: { unlessFingerprint: string | undefined; cappedBytesMax: number },
): Capture | UnchangedReport {
  const isUnchanged = (report as { unchanged?: unknown } | null)?.unchanged === true;
  if (isUnchanged) {
    const unchanged = checked('capture', unchangedReport, report);
    if (unchanged.fingerprint === asked.unlessFingerprint) return unchanged;
    throw refused('capture', 'unchanged against a state that was not asked about');
  }
  const capture = checked('capture', captureReport, report);
  const names = new Set(capture.parts.map(({ name }) => name));
  if (names.size !== capture.parts.length) throw refused('capture', 'a part is listed twice');
  if (!names.has('meta.json')) throw refused('capture', 'meta.json is not among the parts');
  for (const { name, size } of capture.parts)
    if (size > bytesMaxOf(name, asked.cappedBytesMax))
      throw refused('capture', `the part ${name} is larger than its cap`);
  return capture as Capture;
}

function bytesMaxOf(name: PartName, cappedBytesMax: number): number {
  switch (name) {
    case 'repo.bundle':
    case 'base.pack':
      return HISTORY_BYTES_MAX;
    case 'meta.json':
    case 'gitstate':
    case 'changes.json':
      return DESCRIPTION_BYTES_MAX;
    default:
      return Math.max(cappedBytesMax, DESCRIPTION_BYTES_MAX);
  }
}

const state = z
  .object({ state: z.enum(['kept', 'partly', 'lost']), detail: text.optional() })
  .transform(({ state: is, detail }) =>
    detail === undefined ? { state: is } : { state: is, detail: shown(detail) },
  );

const restoreReport = z.object({
  continuity: z.object({
    conversation: state,
    commits: state,
    staged: state,
    unstaged: state,
    untracked: state,
    ignored: state,
    processes: state,
  }),
  losses: z.array(warning).max(ENTRIES_MAX),
});

export function readRestoreReport(report: unknown): Continuity {
  const { continuity, losses } = checked('restore', restoreReport, report);
  return { ...continuity, losses: omissions(losses, 'things were not restored') };
}

const changesReport = z.object({
  base: text.nullable(),
  files: z
    .array(
      z.object({
        path: text,
        status: z.enum(['added', 'modified', 'deleted', 'type_changed']),
        area: z.enum(['committed', 'staged', 'unstaged', 'untracked']),
        binary: z.boolean(),
        diff: z.string().nullable(),
      }),
    )
    .max(ENTRIES_MAX),
  truncated: z.boolean(),
});

export const readChangesReport = (report: unknown): ChangesReport =>
  checked('changes', changesReport, report);

function checked<T>(verb: string, schema: z.ZodType<T>, report: unknown): T {
  const result = schema.safeParse(report);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw refused(verb, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not as agreed'}`);
}

const refused = (verb: string, why: string): ToolRefusal =>
  new ToolRefusal('invalid', `the report of ${verb} is refused: ${shown(why)}`);

/** As an event carries them: so many, each bounded. The checkpoint itself lists them all. */
export function omissions(
  list: readonly { path?: string | undefined; reason: string; bytes?: number }[],
  what: string,
): Omission[] {
  const told = list.slice(0, OMISSIONS_MAX).map(({ path, reason, bytes }) => ({
    ...(path === undefined || path === '' ? {} : { path: shown(path) }),
    reason: shown(reason),
    ...(bytes === undefined ? {} : { bytes }),
  }));
  const more = list.length - told.length;
  return more > 0 ? [...told, { reason: `${more} more ${what}; see meta.json` }] : told;
}

/** Text out of a sandbox, as a person is shown it. */
export const shown = (value: string): string =>
  value.length <= OMISSION_CHARACTERS_MAX
    ? value
    : `${value.slice(0, OMISSION_CHARACTERS_MAX).toWellFormed()} [cut]`;
