import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { fromText, joinPath, toFs, toText } from './byte-path.ts';
import { configValue, readConfig, type ConfigEntry } from './config-file.ts';
import type { ObjectFormat } from './index-file.ts';
import { ObjectPack } from './object-pack.ts';
import { readText, type Ref, type Repository } from './repository.ts';
import { runProcess, type RunOptions, type RunResult } from './run-process.ts';
import { ToolError } from './tool-error.ts';

export { objectId } from './object-pack.ts';

/**
 * The shadow repository: a temporary git directory that borrows the real one's objects, a copy of its
 * index and its refs, and none of its configuration. Every conversion is off, so trees hold the bytes
 * on disk; no hook, filter, fsmonitor, textconv or external diff can run (R1, R3).
 */

const ATTRIBUTES = '* -text -crlf !eol -ident -filter !working-tree-encoding\n';
const CONFIG = `[core]
\trepositoryformatversion = 0
\tbare = false
\tfsmonitor = false
\thooksPath = /dev/null
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tautocrlf = false
\tsafecrlf = false
\tuntrackedCache = false
\tbigFileThreshold = 512m
\tlogAllRefUpdates = false
\tprotectHFS = true
\tprotectNTFS = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[index]
\tthreads = 0
\tsparse = false
[diff]
\tignoreSubmodules = all
[advice]
\tdetachedHead = false
`;

/** The only variables any git or tar process of the tool sees. */
export function cleanEnvironment(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_AUTHOR_NAME: 'hangar',
    GIT_AUTHOR_EMAIL: 'hangar@localhost',
    GIT_AUTHOR_DATE: '@0 +0000',
    GIT_COMMITTER_NAME: 'hangar',
    GIT_COMMITTER_EMAIL: 'hangar@localhost',
    GIT_COMMITTER_DATE: '@0 +0000',
  };
}

export interface Shadow {
  directory: string;
  work: string;
  format: ObjectFormat;
  /** New objects: the shadow's git has them, the repository does not. */
  objects: ObjectPack;
  /** git over the shadow; `extra` adds variables such as GIT_INDEX_FILE. */
  git: (
    args: readonly string[],
    options?: Omit<RunOptions, 'env'> & { extra?: Record<string, string> },
  ) => Promise<RunResult>;
}

export interface ShadowOptions {
  /** Where user-level exclude and attribute files are looked for. */
  home: string;
  /** Objects written by the shadow land in the real store (restore) instead of beside it. */
  intoRealStore?: boolean;
}

export const makeScratch = (): string =>
  fromText(mkdtempSync(joinPath(process.env['TMPDIR'] ?? tmpdir(), 'hangar-checkpoint-')));

export const removeScratch = (directory: string): void =>
  rmSync(toFs(directory), { recursive: true, force: true });

export function makeShadow(
  directory: string,
  repository: Repository,
  options: ShadowOptions,
): Shadow {
  for (const part of ['objects/info', 'refs', 'info']) {
    mkdirSync(toFs(joinPath(directory, part)), { recursive: true });
  }
  const write = (name: string, content: string | Buffer): void =>
    writeFileSync(toFs(joinPath(directory, name)), content, 'latin1');
  const { commonDirectory } = repository;
  write('HEAD', repository.headId === null ? 'ref: refs/heads/unborn\n' : `${repository.headId}\n`);
  write('config', shadowConfig(repository, options.home));
  write('info/attributes', ATTRIBUTES);
  write('objects/info/alternates', `${quoteAlternate(joinPath(commonDirectory, 'objects'))}\n`);
  for (const name of ['shallow', 'info/exclude']) {
    const content = readText(joinPath(commonDirectory, name));
    if (content !== null) write(name, content);
  }
  const env: Record<string, string> = { ...cleanEnvironment() };
  if (options.intoRealStore) {
    env['GIT_OBJECT_DIRECTORY'] = toText(joinPath(commonDirectory, 'objects'));
  }
  const paths = [`--git-dir=${toText(directory)}`, `--work-tree=${toText(repository.work)}`];
  const objects = new ObjectPack(joinPath(directory, 'objects'), repository.format);
  return {
    directory,
    work: repository.work,
    format: repository.format,
    objects,
    git: (args, run = {}) => {
      objects.flush();
      return runProcess('git', [...paths, ...args], {
        ...run,
        cwd: run.cwd ?? toText(repository.work),
        env: { ...env, ...run.extra },
      });
    },
  };
}

/** A path in `alternates` is quoted when it begins with a quote; a newline cannot occur otherwise. */
const quoteAlternate = (path: string): string =>
  /[\n"]/.test(path) ? `"${path.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"` : path;

function shadowConfig(repository: Repository, home: string): string {
  let text = CONFIG;
  const extensions: string[] = [];
  if (repository.format === 'sha256') extensions.push('\tobjectFormat = sha256');
  const partial = configValue(repository.config, 'extensions.partialclone') !== undefined;
  if (partial) extensions.push('\tpartialClone = hangar');
  if (extensions.length > 0) {
    text = text.replace('repositoryformatversion = 0', 'repositoryformatversion = 1');
    text += `[extensions]\n${extensions.join('\n')}\n`;
  }
  // A promisor that cannot be reached: objects that are missing stay missing, without network.
  if (partial) text += '[remote "hangar"]\n\tpromisor = true\n\turl = /nonexistent\n';
  const excludes = excludesFileOf(repository, home);
  if (excludes !== null) {
    text += `[core]\n\texcludesFile = "${excludes.replace(/["\\]/g, '\\$&')}"\n`;
  }
  return text;
}

/** Entries of the user-level and system configuration, plain includes followed two levels deep. */
export function userConfig(home: string): ConfigEntry[] {
  const read = (path: string, depth: number): ConfigEntry[] =>
    readConfig(path).entries.flatMap((entry) => {
      if (entry.key !== 'include.path' || depth === 0 || entry.value === null) return [entry];
      const directory = path.slice(0, path.lastIndexOf('/'));
      return [entry, ...read(expandHome(entry.value, home, directory), depth - 1)];
    });
  return [
    ...read('/etc/gitconfig', 2),
    ...read(joinPath(home, '.config/git/config'), 2),
    ...read(joinPath(home, '.gitconfig'), 2),
  ];
}

export const expandHome = (path: string, home: string, directory: string): string => {
  if (path.startsWith('~/')) return joinPath(home, path.slice(2));
  return path.startsWith('/') ? path : joinPath(directory, path);
};

function excludesFileOf(repository: Repository, home: string): string | null {
  const all = [...userConfig(home), ...repository.config];
  const named = configValue(all, 'core.excludesfile');
  const path =
    named === undefined
      ? joinPath(home, '.config/git/ignore')
      : expandHome(named, home, repository.work);
  return existsSync(toFs(path)) ? path : null;
}

/** Makes the shadow's refs exactly these, in one file. */
export function writeShadowRefs(shadow: Shadow, refs: readonly Ref[]): void {
  const text = refs.map((ref) => `${ref.id} ${ref.name}\n`).join('');
  writeFileSync(toFs(joinPath(shadow.directory, 'packed-refs')), text, 'latin1');
}

/** Copies an index with its time rounded down: git compares it with the files' times (racy git). */
export function copyIndex(from: string, to: string): void {
  copyFileSync(toFs(from), toFs(to));
  const seconds = Math.floor(statSync(toFs(from)).mtimeMs / 1000);
  utimesSync(toFs(to), seconds, seconds);
}

/** Runs git over the shadow and insists on success. */
export async function gitOrThrow(
  shadow: Shadow,
  args: readonly string[],
  options: Parameters<Shadow['git']>[1] = {},
): Promise<Buffer> {
  const result = await shadow.git(args, options);
  if (result.status !== 0) {
    const line = result.message.split('\n')[0] ?? '';
    throw new ToolError('internal', `git ${args[0]} failed: ${line}`);
  }
  return result.stdout;
}

/** A synthetic commit of a tree: fixed author and date, so that the same tree is the same commit. */
export function writeCommit(shadow: Shadow, tree: string, parent: string | null): string {
  const person = 'hangar <hangar@localhost> 0 +0000';
  const text = [
    `tree ${tree}`,
    ...(parent === null ? [] : [`parent ${parent}`]),
    `author ${person}`,
    `committer ${person}`,
    '',
    'hangar',
    '',
  ].join('\n');
  return shadow.objects.add('commit', Buffer.from(text));
}
