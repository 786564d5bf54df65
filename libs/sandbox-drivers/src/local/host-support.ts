import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { DriverProblem } from '../sandbox-driver.ts';
import { detectCgroups, type CgroupHost } from './cgroup-limits.ts';

const run = promisify(execFile);
/** A probe that takes longer than this is counted as failed. */
const PROBE_MS = 10_000;
/** Any uid that is not root's and not a sandbox's; only used to try bubblewrap as root. */
const PROBE_UID = 19_999;

export interface HostSupport {
  isRoot: boolean;
  /** How processes are kept apart; `none` when bubblewrap cannot be used or is not wanted. */
  isolation: 'namespaces' | 'none';
  /** As root: sources of mounts are reached through a private mount namespace. */
  staged: boolean;
  cgroups: CgroupHost | null;
  /** Directories of the terminal addon's packages; null when it is not installed. */
  pty: PtyPackages | null;
  problems: DriverProblem[];
}

export interface PtyPackages {
  /** A directory from which the addon resolves on the host. */
  resolveFrom: string;
  packages: { name: string; directory: string }[];
}

/** Asked once per driver: whether and why not bubblewrap, cgroups and terminals work here. */
export const detectHost = async (wanted: 'auto' | 'none'): Promise<HostSupport> => {
  const isRoot = process.getuid?.() === 0;
  const problems: DriverProblem[] = [];
  const failure = wanted === 'none' ? 'it was switched off' : await tryBubblewrap(isRoot);
  if (failure !== null) problems.push(noIsolation(failure, wanted));
  const isolation = failure === null ? 'namespaces' : 'none';
  const cgroups = await detectCgroups();
  if (!cgroups?.parents.memory || !cgroups.parents.pids) problems.push(NO_LIMITS);
  const pty = findPtyPackages();
  if (!pty) problems.push(NO_TERMINALS);
  if (isolation === 'namespaces') problems.push(SHARED_LOOPBACK);
  const staged = isRoot && isolation === 'namespaces' && (await canStage());
  return { isRoot, isolation, staged, cgroups, pty, problems };
};

const NO_LIMITS: DriverProblem = {
  code: 'no_limits',
  text: 'Memory and process limits of a sandbox cannot be enforced: no writable cgroup was found.',
  fix: 'Run hangar as root, or in a systemd unit with Delegate=yes.',
};

const NO_TERMINALS: DriverProblem = {
  code: 'no_terminals',
  text: 'The terminal addon @lydell/node-pty has no binary for this platform.',
  fix: 'Reinstall with optional dependencies.',
};

const SHARED_LOOPBACK: DriverProblem = {
  code: 'shared_loopback',
  text: "A local sandbox with network 'open' can reach services on this machine's loopback.",
  fix: "Use network 'none', or passwords and unix sockets for what listens on 127.0.0.1.",
};

const noIsolation = (why: string, wanted: 'auto' | 'none'): DriverProblem => ({
  code: 'no_isolation',
  text: `Local sandboxes are plain processes without isolation: ${why}.`,
  fix: wanted === 'none' ? 'Unset HANGAR_LOCAL_ISOLATION to use bubblewrap.' : fixFor(why),
});

/** Messages are bubblewrap's own (containers/bubblewrap#632 and the notes of Ubuntu 23.10). */
const fixFor = (why: string): string => {
  if (/ENOENT/.test(why)) return 'Install bubblewrap (apt install bubblewrap).';
  if (/uid map|RTM_NEWADDR|Permission denied|Operation not permitted/.test(why)) {
    return (
      'Allow unprivileged user namespaces to bubblewrap: an AppArmor profile for bwrap, or ' +
      'sysctl kernel.apparmor_restrict_unprivileged_userns=0 and kernel.unprivileged_userns_clone=1.'
    );
  }
  if (/disable-userns|as-pid-1|unknown option/i.test(why)) {
    return 'Update bubblewrap to 0.8 or newer.';
  }
  return 'Run `bwrap --unshare-user --ro-bind / / true` to see why.';
};

/** null when a sandbox with every kind of separation could be started. */
const tryBubblewrap = async (isRoot: boolean): Promise<string | null> => {
  if (process.platform !== 'linux') return `bubblewrap does not exist for ${process.platform}`;
  const command = [
    'bwrap --unshare-user --uid 1000 --gid 1000 --disable-userns --unshare-pid --as-pid-1',
    '--unshare-ipc --unshare-uts --unshare-net --ro-bind / / --proc /proc --dev /dev',
    '-- /bin/sh -c true',
  ].flatMap((words) => words.split(' '));
  if (isRoot) command.unshift(...dropTo(PROBE_UID));
  try {
    await run(command[0]!, command.slice(1), { timeout: PROBE_MS, cwd: '/' });
    return null;
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    return (stderr?.trim() || message).split('\n')[0]!.slice(0, 300);
  }
};

export const dropTo = (uid: number): string[] => [
  'setpriv',
  '--reuid',
  String(uid),
  '--regid',
  String(uid),
  '--clear-groups',
  '--inh-caps=-all',
];

const canStage = (): Promise<boolean> =>
  run('unshare', ['--mount', '--propagation', 'private', 'true'], { timeout: PROBE_MS }).then(
    () => true,
    () => false,
  );

const ADDON = '@lydell/node-pty';

const findPtyPackages = (): PtyPackages | null => {
  try {
    const main = dirname(createRequire(import.meta.url).resolve(`${ADDON}/package.json`));
    const platform = `${ADDON}-${process.platform}-${process.arch}`;
    const binary = createRequire(join(main, 'index.js')).resolve(`${platform}/package.json`);
    return {
      resolveFrom: main,
      packages: [
        { name: ADDON, directory: main },
        { name: platform, directory: dirname(binary) },
      ],
    };
  } catch {
    return null;
  }
};
