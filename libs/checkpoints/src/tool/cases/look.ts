import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  type BigIntStats,
} from 'node:fs';
import { environment, type Scene } from './scene.ts';

/**
 * Everything a person could see of a checkout, as plain values that compare with toEqual. Names are
 * byte strings. Looking never writes and never runs a program that the checkout names.
 */
export interface Look {
  /** type, mode, content hash or target, time in microseconds; ignored paths are left out. */
  files: Record<string, string>;
  index: string[];
  status: string[];
  head: string;
  refs: string[];
  /** Operation in progress, logs, info files, hooks. */
  state: Record<string, string>;
  config: string[];
  nested: Record<string, Look>;
  fsck: string;
}

export interface LookOptions {
  /** Extra `-c` settings, to keep hostile programs from running under the look itself. */
  settings?: readonly string[];
  /** Files' times are not compared (a case in which they cannot be kept). */
  withoutTimes?: boolean;
  /** core.worktree points elsewhere: look here all the same. */
  forceWorktree?: boolean;
  /** The user's configuration cannot be read by git. */
  withoutUserConfig?: boolean;
}

const SAFE = ['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'core.untrackedCache=false'];

interface Place {
  scene: Scene;
  work: Buffer;
  settings: readonly string[];
  env: Record<string, string>;
}

function run(place: Place, args: readonly string[]): string {
  const settings = [...SAFE, ...place.settings].flatMap((setting) => ['-c', setting]);
  const result = spawnSync('git', [...settings, ...args], {
    cwd: place.work.toString('utf8'),
    env: { ...environment(place.scene), GIT_OPTIONAL_LOCKS: '0', ...place.env },
    maxBuffer: 256 * 1024 * 1024,
  });
  if (result.status === 0) return result.stdout.toString('latin1');
  return `failed: ${result.stderr.toString('latin1').split('\n')[0]}`;
}

const list = (output: string): string[] => output.split('\0').filter((line) => line !== '');

export function look(scene: Scene, options: LookOptions = {}): Look {
  const place = {
    scene,
    work: Buffer.from(scene.work),
    settings: options.settings ?? [],
    env: {
      ...(options.withoutUserConfig ? { GIT_CONFIG_GLOBAL: '/dev/null' } : {}),
      ...(options.forceWorktree
        ? { GIT_WORK_TREE: scene.work, GIT_DIR: `${scene.work}/.git` }
        : {}),
    },
  };
  return lookAt(place, options, new Set());
}

function lookAt(place: Place, options: LookOptions, seen: Set<string>): Look {
  const isRepository = existsSync(Buffer.concat([place.work, Buffer.from('/.git')]));
  const files: Record<string, string> = {};
  const nested: string[] = [];
  const ignored = isRepository
    ? list(run(place, ['ls-files', '-z', '-o', '-i', '--exclude-standard', '--directory']))
    : [];
  walk(place.work, '', new Set(ignored.map((path) => path.replace(/\/$/, ''))), (path, value) => {
    if (value === 'repository') nested.push(path);
    else files[path] = options.withoutTimes ? value.replace(/ time \d+$/, '') : value;
  });
  const result: Look = {
    files,
    index: [],
    status: [],
    head: '',
    refs: [],
    state: {},
    config: [],
    nested: {},
    fsck: '',
  };
  if (!isRepository) return result;
  lookAtGit(place, result);
  for (const path of nested.sort()) {
    const work = Buffer.concat([place.work, Buffer.from(`/${path}`, 'latin1')]);
    const key = work.toString('latin1');
    if (seen.has(key)) continue;
    seen.add(key);
    result.nested[path] = lookAt({ ...place, work }, { ...options, withoutTimes: true }, seen);
  }
  return result;
}

function lookAtGit(place: Place, result: Look): void {
  const args = ['status', '--porcelain=v2', '-z', '-uall', '--ignore-submodules=none'];
  result.status = list(run(place, args)).sort();
  result.index = list(run(place, ['ls-files', '-s', '-v', '-z']));
  const gitDirectory = run(place, ['rev-parse', '--absolute-git-dir']).trim();
  const common = run(place, ['rev-parse', '--path-format=absolute', '--git-common-dir']).trim();
  const head = readFileSync(Buffer.from(`${gitDirectory}/HEAD`, 'latin1'), 'latin1').trim();
  result.head = `${head} ${run(place, ['rev-parse', '-q', '--verify', 'HEAD']).trim()}`;
  const format = '--format=%(objectname) %(refname) %(symref)';
  result.refs = run(place, ['for-each-ref', format])
    .split('\n')
    .filter((line) => line !== '' && !/^\S+ refs\/remotes\//.test(line));
  result.config = list(run(place, ['config', '--local', '--no-includes', '-l', '-z']))
    .map((line) => line.replace('\n', '='))
    .filter((line) => !OWN_OF_CLONE.test(line))
    .sort();
  if (existsSync(Buffer.from(`${gitDirectory}/config.worktree`, 'latin1'))) {
    const own = list(run(place, ['config', '--worktree', '-l', '-z'])).sort();
    result.config.push(...own.map((line) => `worktree ${line.replace('\n', '=')}`));
  }
  for (const name of STATE) collect(gitDirectory, name, result.state);
  for (const name of COMMON_STATE) collect(common, name, result.state);
  const fsck = run(place, ['fsck', '--no-dangling', '--no-progress', '--connectivity-only']);
  result.fsck = /failed|missing|broken|error/.test(fsck) ? fsck : '';
}

const OWN_OF_CLONE =
  /^(?:core\.(?:repositoryformatversion|bare|logallrefupdates|worktree)|extensions\.(?!worktreeconfig)|remote\.origin\.(?:url|fetch|promisor|partialclonefilter))/;

const STATE = [
  'MERGE_HEAD',
  'MERGE_MSG',
  'MERGE_MODE',
  'MERGE_AUTOSTASH',
  'AUTO_MERGE',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'REBASE_HEAD',
  'SQUASH_MSG',
  'ORIG_HEAD',
  'BISECT_LOG',
  'BISECT_START',
  'BISECT_TERMS',
  'BISECT_NAMES',
  'BISECT_EXPECTED_REV',
  'BISECT_ANCESTORS_OK',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
  'logs/HEAD',
];
const COMMON_STATE = [
  'logs/refs/stash',
  'logs/refs/heads',
  'info/exclude',
  'info/attributes',
  'info/sparse-checkout',
  'hooks',
];

function collect(root: string, name: string, into: Record<string, string>): void {
  const path = Buffer.from(`${root}/${name}`, 'latin1');
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat || name.endsWith('.sample')) return;
  if (stat.isDirectory()) {
    for (const child of readdirSync(path, { encoding: 'latin1' })) {
      collect(root, `${name}/${child}`, into);
    }
  } else if (stat.isSymbolicLink()) into[name] = `link ${readlinkSync(path)}`;
  else {
    const mode = name.startsWith('hooks/') ? `${(stat.mode & 0o777).toString(8)} ` : '';
    into[name] = mode + readFileSync(path, 'latin1');
  }
}

/** Of a larger file (a gigabyte of zeros) only the length is compared. */
const HASHED_BYTES_MAX = 256 * 1024 * 1024;

type Visit = (path: string, value: string) => void;

function walk(root: Buffer, directory: string, ignored: Set<string>, visit: Visit): void {
  const at = (path: string): Buffer =>
    Buffer.concat([root, Buffer.from(path === '' ? '' : `/${path}`, 'latin1')]);
  let children: string[];
  try {
    children = readdirSync(at(directory), { encoding: 'latin1' });
  } catch (error) {
    visit(directory, `unreadable ${(error as NodeJS.ErrnoException).code}`);
    return;
  }
  for (const name of children) {
    const path = directory === '' ? name : `${directory}/${name}`;
    if (name === '.git' || ignored.has(path)) continue;
    const stat = statOf(at(path));
    if (stat === null) {
      visit(path, 'too deep');
      continue;
    }
    const mode = (Number(stat.mode) & 0o7777).toString(8);
    const time = `time ${(stat.mtimeNs + 500n) / 1000n}`;
    if (stat.isSymbolicLink()) {
      visit(path, `link ${readlinkSync(at(path), 'latin1')} ${time}`);
    } else if (stat.isDirectory()) {
      if (existsSync(at(`${path}/.git`))) {
        visit(path, 'repository');
        continue;
      }
      visit(path, `directory ${mode} ${time}`);
      walk(root, path, ignored, visit);
    } else if (stat.isFile()) {
      const content = stat.size > HASHED_BYTES_MAX ? `${stat.size}` : hashOf(at(path));
      visit(path, `file ${mode} ${content} ${time}`);
    } else visit(path, `special ${mode}`);
  }
}

const statOf = (path: Buffer): BigIntStats | null => {
  try {
    return lstatSync(path, { bigint: true });
  } catch {
    return null;
  }
};

function hashOf(path: Buffer): string {
  try {
    const body = readFileSync(path);
    return `${body.length} ${createHash('sha256').update(body).digest('hex').slice(0, 16)}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}

/** Names, contents and times of a git directory: what a capture must not change ([C2]). */
export function listGitDirectory(scene: Scene, directory = `${scene.work}/.git`): string[] {
  const lines: string[] = [];
  const visit = (path: string): void => {
    const full = Buffer.from(path, 'latin1');
    const stat = lstatSync(full, { bigint: true, throwIfNoEntry: false });
    if (!stat) return;
    // git freshens the time of an object that it would have written again.
    const time = path.includes('/.git/objects/') ? '' : ` ${stat.mtimeNs}`;
    const kind = stat.isDirectory() ? '' : ` ${stat.ino} ${stat.size}${time}`;
    lines.push(`${path} ${stat.mode.toString(8)}${kind}`);
    if (!stat.isDirectory()) return;
    for (const child of readdirSync(full, { encoding: 'latin1' }).sort()) visit(`${path}/${child}`);
  };
  visit(Buffer.from(directory).toString('latin1'));
  return lines;
}
