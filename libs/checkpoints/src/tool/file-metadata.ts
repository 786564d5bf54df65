import { statSync } from 'node:fs';
import { joinPath, toBytes, toFs, toReport, toText } from './byte-path.ts';
import type { CheckoutScan } from './checkout-scan.ts';
import type { WarningEntry } from './contract.ts';
import { MODE_LINK } from './index-file.ts';
import type { IndexTable } from './index-table.ts';
import type { Observation } from './observe.ts';
import { runProcess } from './run-process.ts';
import { cleanEnvironment } from './shadow.ts';

/** Extended attributes are looked for in so many tracked files; in more it would cost too much. */
const ATTRIBUTE_FILES_MAX = 5000;
const NAMED_MAX = 50;

/** Names what git trees cannot hold of tracked files: hard links and extended attributes. */
export async function noteFileMetadata(
  observation: Observation,
  warnings: WarningEntry[],
): Promise<void> {
  noteHardLinks(observation, warnings);
  await noteAttributes(observation, warnings);
}

/** tar reads no content when it writes to /dev/null, and marks attributes with a star. */
async function noteAttributes(observation: Observation, warnings: WarningEntry[]): Promise<void> {
  const table = observation.index?.table;
  if (table === undefined || table.count > ATTRIBUTE_FILES_MAX) return;
  const paths = filesOf(table, observation.tracked);
  if (paths.length === 0) return;
  const attributes = ['--xattrs', '--xattrs-include=user.*', '--quoting-style=escape'];
  const place = ['-C', toText(observation.work), '--no-recursion', '--null', '-T', '-'];
  const create = ['-cvvf', '/dev/null', '--format=posix', '--ignore-failed-read'];
  const listed = await runProcess('tar', [...create, ...attributes, ...place], {
    env: cleanEnvironment(),
    cwd: '/',
    input: toBytes(paths.map((path) => `${path}\0`).join('')),
  });
  const marked = listed.stdout.toString('latin1').matchAll(MARKED);
  for (const [, path] of [...marked].slice(0, NAMED_MAX)) {
    const reason = 'extended attributes of tracked files are not kept';
    warnings.push({ path: toReport(path!), reason });
  }
}

function filesOf(table: IndexTable, scan: CheckoutScan): string[] {
  const paths: string[] = [];
  for (let number = 0; number < table.count; number++) {
    const isFile = scan.plain[number] === 1 && table.mode(number) !== MODE_LINK;
    if (isFile) paths.push(table.path(number));
  }
  for (const { path, kind } of scan.files.values()) if (kind === 'file') paths.push(path);
  return paths;
}

const MARKED = /^-[rwxsStT-]{9}\* \S+ +\d+ \S+ \S+ (.*)$/gm;

/** Hard links survive only between files of one archive. */
function noteHardLinks(observation: Observation, warnings: WarningEntry[]): void {
  const names = new Map<number, string[]>();
  const note = (path: string, inode: number): void => {
    names.set(inode, [...(names.get(inode) ?? []), path]);
  };
  let tracked = false;
  for (const file of observation.tracked.files.values()) {
    const { stat } = file;
    if (file.kind !== 'file' || stat === null || stat.nlink < 2) continue;
    note(file.path, stat.ino);
    tracked = true;
  }
  if (!tracked) return;
  for (const path of observation.untracked.files) {
    const full = toFs(joinPath(observation.work, path));
    const stat = statSync(full, { throwIfNoEntry: false });
    if (stat?.isFile() && stat.nlink > 1) note(path, stat.ino);
  }
  for (const group of names.values()) {
    warnings.push({
      path: toReport(group[0]!),
      reason: `hard link to ${group.slice(1).map(toReport).join(', ') || 'a file outside the checkout or ignored'}: tracked files come back as separate files`,
    });
  }
}
