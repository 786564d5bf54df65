import { statfs, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { bytesText } from '../../output/quantities.ts';
import { fail, ok, warn, type Check } from './check.ts';
import type { RunProgram } from './run-program.ts';

export const NODE_MAJOR_MIN = 24;
/** Below the first, checkpoints will soon fail; below the second it is time to look. */
export const DISK_FREE_BYTES_MIN = 1024 ** 3;
export const DISK_FREE_BYTES_LOW = 10 * 1024 ** 3;

/** `version` as process.version has it. */
export function checkNode(version: string): Check {
  const major = Number(/^v(\d+)/.exec(version)?.[1] ?? 0);
  if (major >= NODE_MAJOR_MIN) return ok('node', version);
  const fix = 'Use the launcher ./hangar or npm start: they bring the right one.';
  return fail('node', `${version}; ${NODE_MAJOR_MIN} or newer is needed`, fix);
}

export async function checkGit(run: RunProgram): Promise<Check> {
  const { code, text } = await run('git', ['--version']);
  if (code === 0) return ok('git', text);
  return fail('git', 'not found', 'Install git: sandboxes and checkpoints use it.');
}

/**
 * Whether this machine can isolate sandboxes, and if not, why: the program may be missing, or the
 * kernel may forbid user namespaces.
 */
export async function checkBubblewrap(run: RunProgram): Promise<Check> {
  const probe = [
    '--unshare-user',
    '--unshare-pid',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    'true',
  ];
  const { code, missing, text } = await run('bwrap', probe);
  if (code === 0) return ok('bwrap', 'sandboxes on this machine are isolated');
  const plain = 'sandboxes on this machine are NOT isolated';
  if (missing) {
    return warn('bwrap', `not found: ${plain}`, 'Install bubblewrap, then restart hangar.');
  }
  const first = text.split('\n', 1)[0] ?? '';
  return warn('bwrap', `${first}: ${plain}`, bubblewrapFix(text));
}

function bubblewrapFix(text: string): string {
  if (/uid map|No permissions to creat|Operation not permitted/i.test(text)) {
    return (
      'Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, on Ubuntu also ' +
      'kernel.apparmor_restrict_unprivileged_userns=0; for a container, from outside of it.'
    );
  }
  if (/proc/i.test(text)) {
    return 'This container hides /proc: run it with an unmasked /proc, or use the docker driver.';
  }
  return 'Run bwrap --unshare-user --ro-bind / / true to see more.';
}

export async function checkNatsServer(run: RunProgram): Promise<Check> {
  const { code, text } = await run('nats-server', ['--version']);
  if (code === 0) return ok('nats-server', text);
  const fix = 'Install nats-server (npm start needs it), or set HANGAR_NATS_URL to a running one.';
  return warn('nats-server', 'not found', fix);
}

/** Free space where the state is, or will be. */
export async function checkDisk(directory: string): Promise<Check> {
  const existing = await nearestExisting(directory);
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  const detail = `${bytesText(free)} free in ${existing}`;
  const fix = 'Free some space, or point HANGAR_STATE to a larger disk.';
  if (free < DISK_FREE_BYTES_MIN) return fail('disk', detail, fix);
  return free < DISK_FREE_BYTES_LOW ? warn('disk', detail, fix) : ok('disk', detail);
}

async function nearestExisting(directory: string): Promise<string> {
  let path = directory;
  while (path !== dirname(path)) {
    const found = await stat(path).then(
      () => true,
      () => false,
    );
    if (found) return path;
    path = dirname(path);
  }
  return path;
}
