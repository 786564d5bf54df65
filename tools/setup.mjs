// Makes a fresh clone ready: packages, what the machine lacks, and the build. It runs on the
// machine's own Node (20 or newer) and has no dependencies; everything after it runs on the Node
// that package-lock.json pins. It may be killed at any point and run again.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');

const say = (text) => process.stderr.write(`hangar: ${text}\n`);

/** PATH with the pinned tools first. */
export const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` };

export class SetupError extends Error {}

function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (result.status !== 0) {
    const tail = `${result.stdout ?? ''}${result.stderr ?? ''}`.trim().split('\n').slice(-15);
    throw new SetupError(
      `${command} ${args.join(' ')} failed:\n${tail.join('\n')}${result.error ? result.error.message : ''}`,
    );
  }
  return result.stdout ?? '';
}

function has(command) {
  const paths = (process.env.PATH ?? '').split(delimiter).concat('/usr/sbin', '/usr/local/sbin');
  return paths.some((p) => existsSync(join(p, command)));
}

/** `npm ci` unless what is installed is what the lock says; the mark is written last. */
function packages() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(readFileSync(join(root, 'package.json')))
    .digest('hex');
  const mark = join(root, 'node_modules', '.hangar-lock');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  say('installing packages (a minute or so, once)');
  run('npm', ['ci', '--no-audit', '--no-fund']);
  writeFileSync(mark, lock);
  const version = run(join(bin, 'node'), ['--version']).trim();
  if (Number(version.slice(1).split('.')[0]) < 24)
    throw new SetupError(
      `Node ${version} is too old and no pinned one exists for this platform.\n` +
        'Install Node 24 or newer and run this again.',
    );
}

/** What runs beside us: found, or installed where that is ours to do, or named with its command. */
function machine(wanted) {
  const missing = wanted.filter((w) => !has(w.command));
  if (missing.length === 0) return;
  const names = missing.map((m) => m.apt);
  const root0 = process.getuid?.() === 0;
  if (root0 && has('apt-get')) {
    say(`installing ${names.join(', ')}`);
    const apt = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } };
    run('apt-get', ['update', '-qq'], apt);
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names], apt);
    return;
  }
  const needed = missing.filter((m) => m.required);
  const how = has('apt-get')
    ? `sudo apt-get install ${names.join(' ')}`
    : has('brew')
      ? `brew install ${names.join(' ')}`
      : has('dnf')
        ? `sudo dnf install ${names.join(' ')}`
        : `install ${names.join(' and ')} with this machine's package manager`;
  const text = missing.map((m) => `${m.command} is missing: ${m.why}`).join('\n');
  if (needed.length) throw new SetupError(`${text}\nRun this, then try again:\n  ${how}`);
  say(`${text}\n  to have it: ${how}`);
}

const SERVERS = [
  { command: 'git', apt: 'git', required: true, why: 'sessions work on git repositories' },
  {
    command: 'nats-server',
    apt: 'nats-server',
    required: !process.env.NATS_SERVER,
    why: 'it carries the events between the services',
  },
  {
    command: 'bwrap',
    apt: 'bubblewrap',
    required: false,
    why: 'without it sandboxes are plain processes with no isolation',
  },
];

/** Compiles what changed; about a second when nothing did. */
function build() {
  const dist = join(root, 'apps', 'standalone', 'dist', 'main.js');
  if (!existsSync(dist)) say('building (some seconds, once)');
  run(join(bin, 'tsc'), ['-b']);
  run(join(bin, 'node'), ['tools/bundle.ts']);
}

/** One set-up at a time in one clone: a second one waits for nothing and says so. */
function locked(work) {
  const lock = join(root, 'tmp', 'setup.lock');
  mkdirSync(dirname(lock), { recursive: true });
  if (existsSync(lock)) {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid && pid !== process.pid && alive(pid))
      throw new SetupError(`another set-up (process ${pid}) is at work in this clone; wait for it`);
  }
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  renameSync(mine, lock);
  try {
    return work();
  } finally {
    writeFileSync(lock, '');
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** `more`: what else this machine should have, such as a browser for the tests. */
export function setUp(more = []) {
  try {
    locked(() => {
      packages();
      machine([...SERVERS, ...more]);
      build();
    });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
    process.exit(1);
  }
}

/** Runs a script on the pinned Node in the foreground, passing signals on; ends as it ends. */
export function runPinned(args, extraEnv = {}) {
  const result = spawnSync(join(bin, 'node'), args, {
    cwd: root,
    env: { ...env, ...extraEnv },
    stdio: 'inherit',
  });
  return result.status ?? (result.signal === 'SIGINT' ? 130 : 1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUp();
