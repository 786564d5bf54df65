import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join, posix } from 'node:path';
import { HangarError } from '@hangar/contracts';
import type { SandboxPaths, SandboxSpec } from '../sandbox-driver.ts';
import type { HostSupport } from './host-support.ts';
import type { SandboxFiles } from './record.ts';

/** Where things are inside a sandbox of namespaces: the same in each of them [X2]. */
export const INSIDE = {
  home: '/home/agent',
  workspace: '/workspace',
  temporary: '/tmp',
  node: '/run/hangar/node',
  tools: '/run/hangar/tools',
  config: '/run/hangar/sandboxd.json',
  gitconfig: '/run/hangar/gitconfig',
  socket: '/run/hangar/socket',
  runs: '/run/hangar/runs',
  pty: '/run/hangar/pty',
} as const;

/** Mounts of a specification; more would be a mistake. */
const MOUNTS_MAX = 32;
/** Nothing may be mounted over what makes the sandbox one. */
const TARGETS_DENIED = ['/proc', '/dev', '/sys', '/run/hangar', '/usr', '/etc'];

/** One mount: from the host into the sandbox. */
export interface Bind {
  source: string;
  target: string;
  readOnly: boolean;
}

/** Top-level directories that hold programs. Everything else of the host is absent inside. */
const PROGRAM_DIRECTORIES = /^(usr|bin|sbin|lib|lib32|lib64|libx32|opt|nix|gnu)$/;

const systemBinds = (): { binds: Bind[]; symlinks: [target: string, path: string][] } => {
  const binds: Bind[] = [{ source: '/etc', target: '/etc', readOnly: true }];
  const symlinks: [string, string][] = [];
  for (const entry of readdirSync('/', { withFileTypes: true })) {
    const path = `/${entry.name}`;
    if (!PROGRAM_DIRECTORIES.test(entry.name)) continue;
    if (entry.isSymbolicLink()) symlinks.push([readlinkSync(path), path]);
    else if (entry.isDirectory()) binds.push({ source: path, target: path, readOnly: true });
  }
  return { binds, symlinks };
};

/** systemd-resolved and others make /etc/resolv.conf a link into /run, which is absent inside. */
const resolverBind = (): Bind[] => {
  try {
    if (!lstatSync('/etc/resolv.conf').isSymbolicLink()) return [];
    const source = realpathSync('/etc/resolv.conf');
    return source.startsWith('/etc/') || source.startsWith('/usr/')
      ? []
      : [{ source, target: source, readOnly: true }];
  } catch {
    return [];
  }
};

export interface Toolbox {
  nodeBinary: string;
  toolsDirectory: string;
}

/** The private part of a sandbox: its disk, hangar's tools and what the specification mounts. */
const privateBinds = (
  files: SandboxFiles,
  toolbox: Toolbox,
  host: HostSupport,
  spec: SandboxSpec,
): Bind[] => {
  const readOnly = (source: string, target: string): Bind => ({ source, target, readOnly: true });
  const own = (source: string, target: string): Bind => ({ source, target, readOnly: false });
  const ptyBinds = (host.pty?.packages ?? []).map(({ name, directory }) =>
    readOnly(directory, `${INSIDE.pty}/node_modules/${name}`),
  );
  return [
    own(files.temporary, INSIDE.temporary),
    own(files.home, INSIDE.home),
    own(files.workspace, INSIDE.workspace),
    own(files.runs, INSIDE.runs),
    own(files.socket, INSIDE.socket),
    readOnly(files.config, INSIDE.config),
    readOnly(files.gitconfig, INSIDE.gitconfig),
    readOnly(files.passwd, '/etc/passwd'),
    readOnly(files.group, '/etc/group'),
    readOnly(toolbox.nodeBinary, INSIDE.node),
    readOnly(toolbox.toolsDirectory, INSIDE.tools),
    ...ptyBinds,
    ...spec.mounts,
  ];
};

const SYSTEM_MOUNTS = '--proc /proc --dev /dev --tmpfs /var/tmp --dir /run/hangar'.split(' ');

/** Namespaces of its own, no way to more of them, and nothing of hangar's environment. */
const SEPARATION = [
  '--unshare-user --uid 1000 --gid 1000 --disable-userns',
  '--unshare-pid --as-pid-1 --unshare-ipc --unshare-uts --unshare-cgroup-try',
  `--hostname sandbox --chdir ${INSIDE.workspace} --clearenv`,
].flatMap((words) => words.split(' '));

/**
 * Arguments of bubblewrap for one sandbox. The root is an empty file system, so that mount
 * points can be made and everything not named is absent; it becomes read-only at the end.
 * `reach` says under which path the source of a private mount can be reached.
 */
export const bubblewrapArguments = (
  files: SandboxFiles,
  toolbox: Toolbox,
  host: HostSupport,
  spec: SandboxSpec,
  options: { envVars: Record<string, string>; stateDirectory: string; reach: Reach },
): string[] => {
  const { binds, symlinks } = systemBinds();
  const bind = ({ source, target, readOnly }: Bind): string[] => [
    readOnly ? '--ro-bind' : '--bind',
    source,
    target,
  ];
  const hidden = binds.some(({ source }) => options.stateDirectory.startsWith(`${source}/`));
  return [
    '--tmpfs',
    '/',
    ...symlinks.flatMap(([target, path]) => ['--symlink', target, path]),
    ...binds.flatMap(bind),
    ...resolverBind().flatMap(bind),
    ...(hidden ? ['--tmpfs', options.stateDirectory] : []),
    ...SYSTEM_MOUNTS,
    ...privateBinds(files, toolbox, host, spec).flatMap((each, index) =>
      bind({ ...each, source: options.reach(each, index) }),
    ),
    '--remount-ro',
    '/',
    ...SEPARATION,
    ...(spec.network === 'none' ? ['--unshare-net'] : []),
    ...Object.entries(options.envVars).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
};

export type Reach = (bind: Bind, index: number) => string;

/** Every private mount in order; the start script makes them reachable, `reach` names them. */
export const stagedBinds = privateBinds;

export const checkMounts = (spec: SandboxSpec): void => {
  if (spec.mounts.length > MOUNTS_MAX) {
    throw new HangarError('invalid', `A sandbox has at most ${MOUNTS_MAX} mounts.`);
  }
  for (const { source, target } of spec.mounts) {
    const isPlain = posix.isAbsolute(target) && posix.normalize(target) === target;
    const isDenied = TARGETS_DENIED.some((path) => `${target}/`.startsWith(`${path}/`));
    if (!isPlain || target === '/' || isDenied) {
      throw new HangarError('invalid', `Nothing can be mounted at ${target}.`);
    }
    if (!existsSync(source)) {
      throw new HangarError('invalid', `The source of a mount does not exist: ${source}.`);
    }
  }
};

export const namespacePaths = (spec: SandboxSpec): SandboxPaths => ({
  home: INSIDE.home,
  workspace: INSIDE.workspace,
  node: INSIDE.node,
  tools: INSIDE.tools,
  mounts: Object.fromEntries(spec.mounts.map(({ target }) => [target, target])),
});

/**
 * Without isolation there is no `/workspace` of one's own. The workspace is named after the
 * session, not the sandbox, so that its path is the same after a resume.
 */
export const plainPaths = (
  spec: SandboxSpec,
  files: SandboxFiles,
  toolbox: Toolbox,
  sessionDirectory: string,
): SandboxPaths => ({
  home: files.home,
  workspace: join(sessionDirectory, 'workspace'),
  node: toolbox.nodeBinary,
  tools: toolbox.toolsDirectory,
  mounts: Object.fromEntries(spec.mounts.map(({ source, target }) => [target, source])),
});
