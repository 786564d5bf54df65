import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { joinPath, splitNul, toFs, toText } from './byte-path.ts';
import type { CheckoutScan } from './checkout-scan.ts';
import { configValue } from './config-file.ts';
import { MODE_GITLINK, MODE_LINK } from './index-file.ts';
import type { IndexTable } from './index-table.ts';
import { readText, type Repository } from './repository.ts';
import { cleanEnvironment, expandHome, userConfig, type Shadow } from './shadow.ts';
import { runProcess } from './run-process.ts';

/**
 * Files that git holds for unmodified although their bytes on disk are a conversion of their blob:
 * line ends, `ident`, encodings, filters. Their bytes are read and kept (R3), except large files of
 * git-lfs, which are made again from their pointer (R13).
 */
export interface Conversions {
  /** Read the bytes of these. */
  converted: string[];
  /** Unmodified git-lfs files whose pointer is in the index. */
  largeFiles: string[];
  /** Every path with `filter=lfs`, whether modified or not. */
  largeFilePaths: Set<string>;
}

/** In a larger tree sizes are compared only when a conversion is configured at all. */
const UNCONDITIONAL_FILES_MAX = 5000;
const CONVERTING_TEXT = /(?:^|\s)(?:text|crlf|eol)\b|filter|ident|working-tree-encoding|\[attr\]/m;
const CONVERTING = /filter|ident|working-tree-encoding|\[attr\]/;

export async function findConversions(
  shadow: Shadow,
  repository: Repository,
  home: string,
  table: IndexTable,
  scan: CheckoutScan,
): Promise<Conversions> {
  const result: Conversions = { converted: [], largeFiles: [], largeFilePaths: new Set() };
  const sources = attributeSources(shadow, repository, home, table);
  const possible = table.count <= UNCONDITIONAL_FILES_MAX || mayConvert(repository, home, sources);
  if (!possible) return result;
  const clean = cleanFiles(table, scan);
  const [sizes, attributes] = await Promise.all([
    blobSizes(shadow, clean),
    convertingAttributes(shadow, sources, table),
  ]);
  for (const path of attributes.largeFiles) result.largeFilePaths.add(path);
  for (const file of clean) {
    const size = sizes.get(file.id);
    const differs = size !== undefined && size !== file.size;
    if (result.largeFilePaths.has(file.path)) {
      if (differs) result.largeFiles.push(file.path);
    } else if (differs || attributes.converted.has(file.path)) result.converted.push(file.path);
  }
  return result;
}

interface CleanFile {
  path: string;
  id: string;
  /** On disk, in bytes. */
  size: number;
}

/** Files (no links) that git takes for unmodified without a look at their content. */
function cleanFiles(table: IndexTable, scan: CheckoutScan): CleanFile[] {
  const files: CleanFile[] = [];
  for (let number = 0; number < table.count; number++) {
    if (scan.plain[number] !== 1 || table.mode(number) === MODE_LINK) continue;
    const { size } = table.stat(number);
    files.push({ path: table.path(number), id: table.id(number), size });
  }
  for (const { path, kind, statClean, entry, stat } of scan.files.values()) {
    if (statClean && kind === 'file') files.push({ path, id: entry!.id, size: stat!.size });
  }
  return files;
}

async function blobSizes(
  shadow: Shadow,
  files: readonly CleanFile[],
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  if (files.length === 0) return sizes;
  const ids = new Set(files.map((file) => file.id));
  const input = `${[...ids].join('\n')}\n`;
  const args = ['cat-file', '--buffer', '--batch-check=%(objectname) %(objectsize)'];
  const { stdout } = await shadow.git(args, { input });
  for (const line of stdout.toString('latin1').split('\n')) {
    const space = line.indexOf(' ');
    const size = line.slice(space + 1);
    if (space > 0 && size !== 'missing') sizes.set(line.slice(0, space), Number(size));
  }
  return sizes;
}

interface AttributeSources {
  info: string | null;
  userFile: string;
  texts: string[];
}

function attributeSources(
  shadow: Shadow,
  repository: Repository,
  home: string,
  table: IndexTable,
): AttributeSources {
  const info = readText(joinPath(repository.commonDirectory, 'info/attributes'));
  const all = [...userConfig(home), ...repository.config];
  const named = configValue(all, 'core.attributesfile');
  const userFile =
    named === undefined
      ? joinPath(home, '.config/git/attributes')
      : expandHome(named, home, repository.work);
  // An untracked .gitattributes at the top is in force as well.
  const places = new Set(['.gitattributes', ...table.pathsNamed('.gitattributes')]);
  const texts = [info, readText(userFile)];
  for (const path of places) texts.push(readText(joinPath(shadow.work, path)));
  return { info, userFile, texts: texts.filter((text) => text !== null) };
}

/** Whether any setting or attribute could make the bytes on disk differ from a blob. */
function mayConvert(repository: Repository, home: string, sources: AttributeSources): boolean {
  const settings = [...userConfig(home), ...repository.config];
  const converting = settings.some(
    ({ key, value }) =>
      key === 'core.eol' || (key === 'core.autocrlf' && value !== 'false' && value !== '0'),
  );
  return converting || sources.texts.some((text) => CONVERTING_TEXT.test(text));
}

async function convertingAttributes(
  shadow: Shadow,
  sources: AttributeSources,
  table: IndexTable,
): Promise<{ converted: Set<string>; largeFiles: string[] }> {
  const { info, userFile } = sources;
  const found = { converted: new Set<string>(), largeFiles: [] as string[] };
  if (!sources.texts.some((text) => CONVERTING.test(text))) return found;
  const directory = joinPath(shadow.directory, 'attributes');
  makeAttributesDirectory(directory, shadow, info);
  const paths = new Set<string>();
  for (let number = 0; number < table.count; number++) {
    if (table.mode(number) !== MODE_GITLINK) paths.add(`${table.path(number)}\0`);
  }
  const git = [`--git-dir=${toText(directory)}`, `--work-tree=${toText(shadow.work)}`];
  if (existsSync(toFs(userFile))) git.push('-c', `core.attributesFile=${toText(userFile)}`);
  const check = ['check-attr', '-z', '--stdin', 'filter', 'ident', 'working-tree-encoding'];
  const { stdout } = await runProcess('git', [...git, ...check], {
    env: cleanEnvironment(),
    cwd: toText(shadow.work),
    input: Buffer.from([...paths].join(''), 'latin1'),
  });
  const fields = splitNul(stdout);
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const value = fields[at + 2]!;
    if (value === 'unspecified' || value === 'unset') continue;
    if (fields[at + 1] === 'filter' && value === 'lfs') found.largeFiles.push(fields[at]!);
    else found.converted.add(fields[at]!);
  }
  return found;
}

/** A git directory that has the real `info/attributes`; it needs no objects. */
function makeAttributesDirectory(directory: string, shadow: Shadow, info: string | null): void {
  for (const part of ['objects', 'refs', 'info']) {
    mkdirSync(toFs(joinPath(directory, part)), { recursive: true });
  }
  const write = (name: string, text: string): void =>
    writeFileSync(toFs(joinPath(directory, name)), text, 'latin1');
  write('HEAD', 'ref: refs/heads/unborn\n');
  write('config', readText(joinPath(shadow.directory, 'config')) ?? '');
  if (info !== null) write('info/attributes', info);
}
