import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { joinPath, toFs } from './byte-path.ts';
import type { StateFile } from './git-state.ts';
import type { IndexTable } from './index-table.ts';
import { isLocalRef, type Repository } from './repository.ts';
import type { TrackedScan } from './tracked-files.ts';

/**
 * One hash over everything whose change makes another checkpoint worth taking (SPEC 7, seed 000 5.2):
 * HEAD, refs, index entries, operation files, configuration, names, sizes, modes and times of changed
 * and untracked files, the conversation's listing. A file that was only touched counts as changed until
 * git refreshes its index; that costs a checkpoint, never one that is missing.
 */
export interface FingerprintInput {
  repository: Repository | null;
  index: IndexTable | null;
  scan: TrackedScan | null;
  files: readonly StateFile[];
  /** Paths below `work`: untracked files, empty directories, files of nested repositories. */
  others: readonly string[];
  work: string;
  home: string;
  conversation: readonly string[];
}

export function computeFingerprint(input: FingerprintInput): string {
  const hash = createHash('sha256');
  const { repository, index, scan } = input;
  const add = (kind: string, lines: string[]): void => {
    hash.update(`${kind} ${lines.length}\0`);
    hash.update(`${lines.join('\0')}\0`, 'latin1');
  };
  if (repository) {
    add('head', [repository.headText, repository.headId ?? '']);
    const refs = repository.refs.filter((ref) => isLocalRef(ref.name));
    add(
      'refs',
      refs.flatMap((ref) => [ref.name, ref.id]),
    );
    add(
      'config',
      repository.config.flatMap((entry) => [entry.key, entry.value ?? '']),
    );
  }
  hash.update(`index ${index?.count ?? 0}\0`);
  if (index) hash.update(index.withoutStat());
  const operation = input.files.filter((file) => !file.path.startsWith('logs/'));
  add(
    'state',
    operation.flatMap((file) => [file.path, `${file.mode}`, file.content]),
  );
  const tracked: string[] = [];
  for (const file of scan?.files.values() ?? []) {
    const { stat } = file;
    // The index entry above says all there is to say of a clean file, unless its mode is odd: git
    // does not tell a chmod in the second in which it last looked.
    if (file.statClean && stat === null) continue;
    tracked.push(
      stat === null || file.kind === 'directory'
        ? `${file.kind} ${file.path}`
        : `${stat.size} ${stat.mtimeMs} ${stat.mode} ${file.path}`,
    );
  }
  add('tracked', tracked);
  add('others', listing(input.work, input.others));
  add('conversation', listing(input.home, input.conversation));
  return hash.digest('hex');
}

function listing(root: string, paths: readonly string[]): string[] {
  return paths.map((path) => {
    const stat = lstatSync(toFs(joinPath(root, path)), { bigint: true, throwIfNoEntry: false });
    if (!stat) return `gone ${path}`;
    if (stat.isDirectory()) return `directory ${path}`;
    return `${stat.size} ${stat.mtimeNs} ${stat.mode} ${path}`;
  });
}
