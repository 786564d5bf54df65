/**
 * Fetches a harness with npm when it is first wanted, into `<directory>/<name>-<version>/`; one that
 * npm does not have is never fetched, and used where a person has put it. A fetched one is
 * built beside its place and moved there whole, so a directory that is there is complete; two
 * processes that install at once do the work once.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HangarError } from '@hangar/contracts';
import type { HarnessName } from './harness-adapter.ts';
import { harnessDirectory, harnessPackage, type HarnessPackage } from './versions.ts';

/** Longest install: the largest package is 420 MB unpacked. */
const INSTALL_MINUTES_MAX = 10;
const MINUTE = 60_000;
/** How often another process's install is looked at. */
const LOCK_POLL_MILLISECONDS = 250;
/** Written last: its presence says that the directory is whole. */
const MARKER = '.hangar-installed';
/** Characters of npm's own words in an error. */
const NPM_WORDS_CHARACTERS_MAX = 1_500;

/**
 * @returns the harness's directory, installed now or before; `directory` is the `harnessRoot`
 *   of a turn. @throws HangarError `unavailable` when npm cannot fetch it or takes too long,
 *   `not_found` when a person has to put it there and has not.
 */
export async function installHarness(
  name: HarnessName,
  directory: string,
  log: (line: string) => void,
): Promise<string> {
  const target = join(directory, harnessDirectory(name));
  const wanted = harnessPackage(name);
  if (wanted === null || existsSync(join(target, MARKER))) return target;
  if (!isOnNpm(wanted)) return placed(name, wanted, target);
  await mkdir(directory, { recursive: true });
  const release = await lock(`${target}.lock`);
  try {
    if (existsSync(join(target, MARKER))) return target;
    log(`installing ${wanted.npmName}@${wanted.version}`);
    await install(name, wanted, directory, target);
    log(`installed ${wanted.npmName}@${wanted.version}`);
    return target;
  } finally {
    await release();
  }
}

/** Is it there already, without fetching anything? */
export function isHarnessInstalled(name: HarnessName, directory: string): boolean {
  const wanted = harnessPackage(name);
  if (wanted === null) return true;
  const place = join(directory, harnessDirectory(name));
  return existsSync(join(place, isOnNpm(wanted) ? MARKER : wanted.program));
}

type NpmPackage = HarnessPackage & { npmName: string };

const isOnNpm = (wanted: HarnessPackage): wanted is NpmPackage => wanted.npmName !== null;

function placed(name: HarnessName, wanted: HarnessPackage, target: string): string {
  const program = join(target, wanted.program);
  if (existsSync(program)) return target;
  throw new HangarError('not_found', `${name} is not installed: hangar cannot fetch it from npm`, {
    hint: `Put its program, version ${wanted.version}, at ${program}: a file that everybody may read and run, and no link to elsewhere.`,
  });
}

async function install(
  name: HarnessName,
  wanted: NpmPackage,
  directory: string,
  target: string,
): Promise<void> {
  const temporary = await mkdtemp(join(directory, `.${name}-`));
  try {
    // The sandbox's user reads it too, and is somebody else.
    await chmod(temporary, 0o755);
    await npmInstall(wanted, temporary);
    await linkProgram(name, wanted, temporary);
    await writeFile(join(temporary, MARKER), `${wanted.npmName}@${wanted.version}\n`);
    // Only an incomplete directory can be here: one with its marker is never installed again.
    await rm(target, { recursive: true, force: true });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Install scripts are not run: the programs are used where their packages hold them. */
async function npmInstall(wanted: NpmPackage, directory: string): Promise<void> {
  await writeFile(join(directory, 'package.json'), '{ "private": true }\n');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev', '--no-save'];
  const argv = ['install', '--prefix', directory, ...options];
  const { code, output } = await run('npm', [...argv, `${wanted.npmName}@${wanted.version}`]);
  if (code === 0) return;
  const words = output.trim().slice(-NPM_WORDS_CHARACTERS_MAX);
  const why = code === null ? `took longer than ${INSTALL_MINUTES_MAX} minutes` : words;
  const what = `npm could not fetch ${wanted.npmName}@${wanted.version}: ${why}`;
  throw new HangarError('unavailable', what, {
    hint:
      'Check that this machine reaches its npm registry (npm ping, npm config get registry), or ' +
      'copy the harness directory from a machine where it is installed.',
  });
}

function run(program: string, argv: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: process.env,
      timeout: INSTALL_MINUTES_MAX * MINUTE,
      killSignal: 'SIGKILL',
    });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-4 * NPM_WORDS_CHARACTERS_MAX);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', (cause) => {
      const hint = 'Install Node.js with npm, or put npm on the PATH of this process.';
      reject(new HangarError('unavailable', `${program} cannot be started`, { hint, cause }));
    });
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** One relative link, so that the directory can be mounted anywhere, read-only. */
async function linkProgram(
  name: HarnessName,
  wanted: NpmPackage,
  directory: string,
): Promise<void> {
  const found = await programFile(name, join(directory, 'node_modules'));
  if (found === null) {
    throw new HangarError('unavailable', `${wanted.npmName} has no program for ${platform()}`, {
      hint: `Use another harness, or run the sandbox on a platform that it supports (${arch()}).`,
    });
  }
  const link = join(directory, wanted.program);
  await mkdir(dirname(link), { recursive: true });
  await symlink(relative(dirname(link), found), link);
}

async function programFile(name: HarnessName, modules: string): Promise<string | null> {
  if (name === 'pi') {
    return existing(join(modules, '@earendil-works/pi-coding-agent/dist/bundle/cli.js'));
  }
  if (name === 'gemini') {
    return existing(join(modules, '@google/gemini-cli/bundle/gemini.js'));
  }
  const here = `${platform()}-${arch()}`;
  if (name === 'claude-code') {
    const package_ = join(modules, '@anthropic-ai');
    const plain = existing(join(package_, `claude-code-${here}`, 'claude'));
    return plain ?? existing(join(package_, `claude-code-${here}-musl`, 'claude'));
  }
  if (name === 'opencode') {
    // The baseline runs on every x64 processor, also on one without AVX2.
    const kinds = ['-baseline', '', '-baseline-musl', '-musl'];
    const programs = kinds.map((kind) => join(modules, `opencode-${here}${kind}`, 'bin/opencode'));
    return programs.find((program) => existsSync(program)) ?? null;
  }
  const vendor = join(modules, '@openai', `codex-${here}`, 'vendor');
  const triples = existsSync(vendor) ? await readdir(vendor) : [];
  const programs = triples.map((triple) => join(vendor, triple, 'bin', 'codex'));
  return programs.find((program) => existsSync(program)) ?? null;
}

function existing(path: string): string | null {
  return existsSync(path) ? path : null;
}

/** A lock file that names its process; one left by a dead process is taken over. */
async function lock(path: string): Promise<() => Promise<void>> {
  const deadline = Date.now() + INSTALL_MINUTES_MAX * MINUTE;
  while (Date.now() < deadline) {
    const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return null;
    });
    if (file !== null) {
      const timer = setInterval(() => void file.utimes(new Date(), new Date()), MINUTE / 6);
      return async () => {
        clearInterval(timer);
        await file.close();
        await rm(path, { force: true });
      };
    }
    if (await isStale(path)) await rm(path, { force: true });
    else await sleep(LOCK_POLL_MILLISECONDS);
  }
  throw new HangarError('unavailable', `another process has held ${path} for too long`, {
    hint: 'See whether another hangar process is still installing; if none is, delete that file.',
  });
}

/** The holder touches its lock every 10 s; one untouched for a minute has no holder. */
async function isStale(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > MINUTE;
}
