import { readFileSync, lstatSync, readlinkSync } from 'node:fs';
import { joinPath, toFs, toReport } from './byte-path.ts';
import type { ChangeArea, ChangedFile, ChangesReport } from './contract.ts';
import type { Shadow } from './shadow.ts';

/** Bounds of the view (SPEC 7: changes of a suspended session can be shown). */
const VIEW_BYTES_MAX = 5 * 1024 * 1024;
const AREA_BYTES_MAX = 4 * 1024 * 1024;
const DIFF_BYTES_MAX = 256 * 1024;
const FILES_MAX = 5000;
const UNTRACKED_BYTES_MAX = 64 * 1024;

/** The one way diffs are made here: from two trees, without configuration, filters or programs. */
export const DIFF = [
  'diff-tree',
  '-r',
  '--full-index',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--no-renames',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--ignore-submodules=all',
];

export interface ChangesInput {
  /** Trees or commits, from the base to the disk. */
  base: string | null;
  baseId: string | null;
  head: string;
  headTree: string;
  index: string;
  view: string;
  untracked: readonly string[];
}

/** `known`: an area whose diff is there already. */
export async function collectChanges(
  shadow: Shadow,
  input: ChangesInput,
  known: { area: ChangeArea; output: Buffer } | null = null,
): Promise<ChangesReport> {
  const pairs: [ChangeArea, string | null, string][] = [
    ['committed', input.base, input.head],
    ['staged', input.headTree, input.index],
    ['unstaged', input.index, input.view],
  ];
  const lists = await Promise.all(
    pairs.map(([area, from, to]) =>
      area === known?.area
        ? Promise.resolve(readDiff(area, known.output, false))
        : diffArea(shadow, area, from, to),
    ),
  );
  const report: ChangesReport = { base: input.baseId, files: [], truncated: false };
  for (const list of lists) {
    report.files.push(...list.files);
    report.truncated ||= list.truncated;
  }
  addUntracked(shadow.work, input.untracked, report);
  return bound(report);
}

const STATUS: Record<string, ChangedFile['status']> = {
  A: 'added',
  D: 'deleted',
  M: 'modified',
  T: 'type_changed',
};

async function diffArea(
  shadow: Shadow,
  area: ChangeArea,
  from: string | null,
  to: string,
): Promise<{ files: ChangedFile[]; truncated: boolean }> {
  if (from === null || from === to) return { files: [], truncated: false };
  const args = [...DIFF, '-z', '--raw', '-p', from, to];
  const { stdout, cut } = await shadow.git(args, { outputBytesMax: AREA_BYTES_MAX });
  return readDiff(area, stdout, cut);
}

function readDiff(
  area: ChangeArea,
  output: Buffer,
  cut: boolean,
): { files: ChangedFile[]; truncated: boolean } {
  const { raw, patch } = splitRaw(output);
  const chunks = patch.split(/^(?=diff --git )/m).filter((chunk) => chunk !== '');
  const files = raw.map(({ status, path }, number): ChangedFile => {
    const chunk = chunks[number];
    const last = cut && number >= chunks.length - 1;
    const binary = chunk !== undefined && /^(?:Binary files |GIT binary patch$)/m.test(chunk);
    const shown = chunk !== undefined && !binary && !last && chunk.length <= DIFF_BYTES_MAX;
    return {
      path: toReport(path),
      status: STATUS[status] ?? 'modified',
      area,
      binary,
      diff: shown ? Buffer.from(chunk, 'latin1').toString('utf8') : null,
    };
  });
  return { files, truncated: cut || chunks.some((chunk) => chunk.length > DIFF_BYTES_MAX) };
}

/** Names that git writes as they are, with -z or without. */
const PLAIN_NAME = /^[ !#-[\]-~]+$/;

/**
 * The patch with binary content between two trees, and what of its making can be used again for an
 * area of `collectChanges` between the same two.
 */
export async function makePatch(
  shadow: Shadow,
  [from, to]: [string, string],
  bytesMax: number,
): Promise<{ patch: Buffer; cut: boolean; forArea: Buffer | null }> {
  const args = [...DIFF, '-p', '--binary'];
  const both = await shadow.git([...args, '-z', '--raw', from, to], { outputBytesMax: bytesMax });
  const { raw, patch } = splitRaw(both.stdout);
  if (!both.cut && raw.every(({ path }) => PLAIN_NAME.test(path))) {
    const forArea = both.stdout.length <= AREA_BYTES_MAX ? both.stdout : null;
    return { patch: Buffer.from(patch, 'latin1'), cut: false, forArea };
  }
  const { stdout, cut } = await shadow.git([...args, from, to], { outputBytesMax: bytesMax });
  return { patch: stdout, cut, forArea: null };
}

/** With -z the raw records come first, an empty field ends them, the patch follows. */
function splitRaw(output: Buffer): { raw: { status: string; path: string }[]; patch: string } {
  const raw: { status: string; path: string }[] = [];
  let at = 0;
  while (at < output.length && output[at] === 0x3a) {
    const headEnd = output.indexOf(0, at);
    const pathEnd = output.indexOf(0, headEnd + 1);
    if (headEnd < 0 || pathEnd < 0) break;
    const status = output.toString('latin1', headEnd - 1, headEnd);
    raw.push({ status, path: output.toString('latin1', headEnd + 1, pathEnd) });
    at = pathEnd + 1;
  }
  if (output[at] === 0) at++;
  return { raw, patch: output.toString('latin1', at) };
}

function addUntracked(work: string, paths: readonly string[], report: ChangesReport): void {
  for (const path of paths) {
    if (report.files.length >= FILES_MAX) {
      report.truncated = true;
      return;
    }
    report.files.push(untrackedFile(work, path));
  }
}

function untrackedFile(work: string, path: string): ChangedFile {
  const file: ChangedFile = {
    path: toReport(path),
    status: 'added',
    area: 'untracked',
    binary: false,
    diff: null,
  };
  const full = toFs(joinPath(work, path));
  try {
    const stat = lstatSync(full);
    if (stat.size > UNTRACKED_BYTES_MAX || !(stat.isFile() || stat.isSymbolicLink())) return file;
    const body = stat.isFile() ? readFileSync(full) : readlinkSync(full, 'buffer');
    file.binary = body.subarray(0, 8000).includes(0);
    if (!file.binary) file.diff = additionDiff(toReport(path), body.toString('utf8'), stat.mode);
  } catch {
    // The file went away or cannot be read: the view names it without its content.
  }
  return file;
}

function additionDiff(path: string, text: string, mode: number): string {
  const lines = text.split('\n');
  const complete = lines.at(-1) === '';
  if (complete) lines.pop();
  const kind = (mode & 0o170000) === 0o120000 ? '120000' : mode & 0o100 ? '100755' : '100644';
  return [
    `diff --git a/${path} b/${path}`,
    `new file mode ${kind}`,
    '--- /dev/null',
    `+++ b/${path}`,
    `@@ -0,0 +1,${lines.length} @@`,
    ...lines.map((line) => `+${line}`),
    ...(complete ? [] : ['\\ No newline at end of file']),
    '',
  ].join('\n');
}

/** Drops diffs from the end until the JSON is within its bound. */
function bound(report: ChangesReport): ChangesReport {
  if (report.files.length > FILES_MAX) {
    report.files.length = FILES_MAX;
    report.truncated = true;
  }
  let bytes = 1000;
  for (const file of report.files) {
    const own = Buffer.byteLength(JSON.stringify(file)) + 1;
    if (bytes + own > VIEW_BYTES_MAX && file.diff !== null) {
      bytes += own - Buffer.byteLength(JSON.stringify(file.diff));
      file.diff = null;
      report.truncated = true;
    } else bytes += own;
  }
  return report;
}
