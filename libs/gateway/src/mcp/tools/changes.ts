import { checkpointIdSchema, clip, type Changes } from '@hangar/contracts';
import { z } from 'zod';
import { sessionField } from '../fields.ts';
import { defineTool } from '../tool.ts';

const FILES_SHOWN_MAX = 200;
/** Of all diffs together: two of them and the list are what a model is given in one go. */
const DIFF_CHARACTERS_MAX = 24_000;
const FILE_DIFF_CHARACTERS_MAX = 8000;

type File = Changes['files'][number];

export const changes = defineTool({
  name: 'changes',
  title: 'Changes',
  description:
    'The work of a session against the base it began from: each file with its status (added, ' +
    'modified, deleted, type_changed) and area (committed, staged, unstaged, untracked), and ' +
    'unified diffs. Read from the sandbox, or from the newest checkpoint when there is none. Long ' +
    'diffs are cut and say so, and beyond a bound left out (`diffs_left_out`): narrow it with ' +
    '`path`. `checkpoint` shows an earlier state.',
  scope: 'read',
  input: z.strictObject({
    session: sessionField,
    path: z.string().min(1).max(4096).optional().describe('One file, or a folder and all in it'),
    checkpoint: checkpointIdSchema.optional().describe('A checkpoint (ckp-...) of `checkpoints`'),
  }),
  async run({ session, path, checkpoint }, { sandboxCalls, caller }) {
    const found = await sandboxCalls.changes(caller, session, checkpoint);
    const wanted =
      path === undefined ? found.files : found.files.filter((file) => isIn(file, path));
    const files = bounded(wanted.slice(0, FILES_SHOWN_MAX));
    const notes = {
      files_left_out: wanted.length - files.length,
      diffs_left_out: files.filter(({ diff }, at) => diff === null && wanted[at]?.diff !== null)
        .length,
      truncated: found.truncated ?? false,
    };
    const { source, taken_at, base } = found;
    return {
      text: textOf(files, notes, source, taken_at),
      structured: { source, taken_at, base, files, ...notes },
    };
  },
});

const isIn = ({ path }: File, wanted: string): boolean => {
  const folder = wanted.replace(/\/*$/, '/');
  return path === wanted || path.startsWith(folder);
};

/** Each diff cut to its bound; those past the bound of all are null, as those of binary files. */
function bounded(files: File[]): File[] {
  let left = DIFF_CHARACTERS_MAX;
  return files.map((file) => {
    const diff = file.diff === null ? null : clip(file.diff, FILE_DIFF_CHARACTERS_MAX);
    if (diff === null || diff.length > left) return { ...file, diff: null };
    left -= diff.length;
    return { ...file, diff };
  });
}

function textOf(
  files: File[],
  notes: { files_left_out: number; diffs_left_out: number; truncated: boolean },
  source: string,
  takenAt: string,
): string {
  if (files.length === 0) return `No changes (read from the ${source}, ${takenAt}).`;
  const list = files.map(({ path, status, area, binary }) => {
    return `${status} ${path} (${area}${binary ? ', binary' : ''})`;
  });
  const said = [
    ...(notes.files_left_out > 0 ? [`${notes.files_left_out} more files: give \`path\`.`] : []),
    ...(notes.diffs_left_out > 0
      ? [`${notes.diffs_left_out} diffs are left out: call changes with \`path\`.`]
      : []),
    ...(notes.truncated ? ['There is more than this view reads.'] : []),
  ];
  const diffs = files.flatMap(({ path, diff }) => (diff === null ? [] : [`--- ${path}\n${diff}`]));
  return [`Read from the ${source}, ${takenAt}:`, ...list, ...said, ...diffs].join('\n');
}
