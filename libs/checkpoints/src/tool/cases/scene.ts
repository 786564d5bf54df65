import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from '@jest/globals';

/**
 * A place where one case plays: a remote, a checkout on the session's branch, a HOME with a
 * conversation. States are built with real git, as a person or an agent would.
 */
export interface Scene {
  root: string;
  work: string;
  home: string;
  origin: string;
  parts: string;
  /** Programs of hostile states append to it: it must stay empty. */
  canary: string;
  /** Cleaned up after the case (listening sockets, running processes). */
  closers: (() => void | Promise<void>)[];
}

export const BRANCH = 'hangar/session/demo';
/** In memory where there is such a place: the states make many small files. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
process.env['TMPDIR'] = PLACE;

/** Base files get this time, so that their index entries are not racy. */
const PAST_SECONDS = 1_700_000_000;

export const LINES = Array.from({ length: 12 }, (_, number) => `line ${number + 1}`);
export const text = (...changes: [number, string][]): string => {
  const lines = [...LINES];
  for (const [line, content] of changes) lines[line - 1] = content;
  return `${lines.join('\n')}\n`;
};

export function environment(scene: Pick<Scene, 'home'>): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: scene.home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    GIT_SEQUENCE_EDITOR: 'true',
  };
}

export interface GitOptions {
  cwd?: string;
  input?: string | Buffer;
  /** The command is expected to fail (a merge with conflicts). */
  mayFail?: boolean;
  env?: Record<string, string>;
}

/** Runs git in the checkout (or elsewhere) and returns what it printed, without the last newline. */
export function git(scene: Scene, args: readonly string[], options: GitOptions = {}): string {
  const result = spawnSync('git', args, {
    cwd: options.cwd ?? scene.work,
    env: { ...environment(scene), ...options.env },
    input: options.input,
    maxBuffer: 256 * 1024 * 1024,
  });
  if (result.status !== 0 && !options.mayFail) {
    throw new Error(`git ${args.join(' ')}: ${result.stderr?.toString('latin1') ?? 'no git'}`);
  }
  return result.stdout.toString('latin1').replace(/\n$/, '');
}

export const shell = (scene: Scene, script: string, cwd = scene.work): string =>
  execFileSync('bash', ['-c', script], {
    cwd,
    env: environment(scene),
    stdio: ['ignore', 'pipe', 'pipe'],
  }).toString('latin1');

export function write(scene: Scene, path: string, content: string | Buffer): void {
  const full = join(scene.work, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, content);
}

export const append = (scene: Scene, path: string, content: string): void =>
  appendFileSync(join(scene.work, path), content);

export const remove = (scene: Scene, path: string): void =>
  rmSync(join(scene.work, path), { recursive: true, force: true });

export const link = (scene: Scene, target: string, path: string): void => {
  remove(scene, path);
  mkdirSync(dirname(join(scene.work, path)), { recursive: true });
  symlinkSync(target, join(scene.work, path));
};

export const chmod = (scene: Scene, path: string, mode: number): void =>
  chmodSync(join(scene.work, path), mode);

export function commit(scene: Scene, message: string, cwd = scene.work): string {
  git(scene, ['add', '-A'], { cwd });
  git(scene, ['commit', '-q', '--allow-empty', '-m', message], { cwd });
  return git(scene, ['rev-parse', 'HEAD'], { cwd });
}

/** A hostile program: it leaves a trace in the canary when anything runs it. */
export function trap(scene: Scene, name: string, then = 'exit 0'): string {
  const path = join(scene.root, name);
  writeFileSync(path, `#!/bin/sh\necho "${name} $*" >> '${scene.canary}'\n${then}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Another person's clone, to move the remote. Made on first use. */
export function elsewhere(scene: Scene): string {
  const path = join(scene.root, 'elsewhere');
  if (!existsSync(path)) git(scene, ['clone', '-q', scene.origin, path], { cwd: scene.root });
  return path;
}

let template: string | undefined;

afterAll(() => {
  if (template !== undefined) rmSync(template, { recursive: true, force: true });
});

/** The remote: a few commits on main, a second branch, a tag. Built once per test file. */
function makeTemplate(): string {
  if (template !== undefined) return template;
  const root = mkdtempSync(join(PLACE, 'hangar-cases-'));
  const scene: Scene = emptyScene(root);
  mkdirSync(scene.home);
  writeFileSync(join(scene.home, '.gitconfig'), USER_CONFIG);
  git(scene, ['init', '-q', '--bare', '-b', 'main', scene.origin], { cwd: root });
  git(scene, ['init', '-q', '-b', 'main', scene.work], { cwd: root });
  for (const name of ['a.txt', 'b.txt', 'c.txt', 'dir/d.txt', 'dir/sub/e.txt', 'dir2/f.txt']) {
    write(scene, name, text());
  }
  write(scene, 'run.sh', '#!/bin/sh\necho run\n');
  chmod(scene, 'run.sh', 0o755);
  write(scene, 'data.bin', Buffer.from([0, 1, 2, 255, 254, 0, 10, 13, 10]));
  write(scene, '.gitignore', 'node_modules/\n*.log\n/build/\n');
  link(scene, 'a.txt', 'link');
  commit(scene, 'first');
  write(scene, 'a.txt', text([1, 'line one']));
  commit(scene, 'second');
  git(scene, ['tag', 'v1']);
  git(scene, ['remote', 'add', 'origin', scene.origin]);
  git(scene, ['push', '-q', 'origin', 'main', 'v1']);
  git(scene, ['checkout', '-q', '-b', 'side']);
  write(scene, 'b.txt', text([2, 'side two']));
  commit(scene, 'side');
  git(scene, ['push', '-q', 'origin', 'side']);
  rmSync(scene.work, { recursive: true });
  template = root;
  return root;
}

const USER_CONFIG =
  '[user]\n\tname = Agent\n\temail = agent@example.com\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n';

const emptyScene = (root: string): Scene => ({
  root,
  work: join(root, 'work'),
  home: join(root, 'home'),
  origin: join(root, 'origin.git'),
  parts: join(root, 'parts'),
  canary: join(root, 'canary'),
  closers: [],
});

export type StartPoint = 'session' | 'empty_remote' | 'nothing';

/** A fresh scene; `session` has a checkout of main on the session's branch. */
export function makeScene(start: StartPoint): Scene {
  const source = makeTemplate();
  const scene = emptyScene(mkdtempSync(join(PLACE, 'hangar-case-')));
  cpSync(join(source, 'home'), scene.home, { recursive: true });
  writeFileSync(scene.canary, '');
  const conversation = join(scene.home, '.claude/projects/demo');
  mkdirSync(conversation, { recursive: true });
  writeFileSync(join(conversation, 'talk.jsonl'), '{"said":"hello"}\n');
  writeFileSync(join(scene.home, '.claude/credentials.json'), '{"secret":"never"}\n');
  if (start === 'nothing') {
    mkdirSync(scene.work);
    return scene;
  }
  if (start === 'empty_remote') {
    git(scene, ['init', '-q', '--bare', '-b', 'main', scene.origin], { cwd: scene.root });
    git(scene, ['clone', '-q', scene.origin, scene.work], { cwd: scene.root });
    return scene;
  }
  execFileSync('cp', ['-a', join(source, 'origin.git'), scene.origin]);
  git(scene, ['clone', '-q', scene.origin, scene.work], { cwd: scene.root });
  git(scene, ['checkout', '-q', '-b', BRANCH]);
  settle(scene);
  return scene;
}

/** Sets every file's time into the past and refreshes the index: nothing is racy then. */
export function settle(scene: Scene, work = scene.work): void {
  const visit = (directory: string): void => {
    for (const child of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, child.name);
      if (child.name === '.git') continue;
      if (child.isDirectory()) visit(path);
      else if (child.isFile()) utimesSync(path, PAST_SECONDS, PAST_SECONDS);
    }
  };
  visit(work);
  git(scene, ['update-index', '-q', '--refresh'], { cwd: work, mayFail: true });
}

export async function closeScene(scene: Scene): Promise<void> {
  for (const close of scene.closers) await close();
  spawnSync('chmod', ['-R', 'u+rwx', scene.root], { stdio: 'ignore' });
  rmSync(scene.root, { recursive: true, force: true });
}

export const readCanary = (scene: Scene): string => readFileSync(scene.canary, 'utf8');
