import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { access, chmod, chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';
import type { SandboxSpec } from '../sandbox-driver.ts';
import { dropTo, type HostSupport } from './host-support.ts';
import { bubblewrapArguments, INSIDE, stagedBinds, type Reach, type Toolbox } from './layout.ts';
import { readProcess, type ProcessIdentity } from './process-table.ts';
import { sandboxMark, type SandboxFiles, type SandboxRecord } from './record.ts';
import { buildSeccompFilter } from './seccomp-filter.ts';
import { CREDENTIALS_VARIABLE, MARKER, SOCKET_NAME, type SandboxdConfig } from './wire/protocol.ts';

/** Among hangar's tools: asks for credentials. */
const CREDENTIAL_TOOL = 'hangar-credential';
/** A sandbox that does not answer after this long has failed to start. */
const START_MS = 20_000;
/** How often it is looked whether the socket is there. */
const START_POLL_MS = 5;
/** What is shown of a failed start's output. */
const START_LOG_CHARACTERS_MAX = 2000;

/**
 * PID 1 of the sandbox. Signals from inside cannot kill it, it reaps orphans, and it starts
 * sandboxd again when the agent killed that; after the last time the sandbox is over.
 */
const INIT = `
n=0
while [ $n -lt 50 ]; do
  "$@" &
  exec </dev/null >/dev/null 2>&1
  wait $!
  n=$((n+1))
  sleep 0.1
done
`;

/** Bound where the sources of mounts are gathered; every machine has it and it is readable. */
const STAGE = '/mnt';

export interface Launch {
  record: SandboxRecord;
  files: SandboxFiles;
  spec: SandboxSpec;
  host: HostSupport;
  toolbox: Toolbox;
  stateDirectory: string;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Directories and files that the sandbox mounts; those it writes belong to its own uid. */
export const prepareFiles = async (launch: Launch): Promise<void> => {
  const { files, record } = launch;
  const writable = [files.home, files.temporary, files.workspace, files.runs, files.socket];
  await mkdir(files.stage, { mode: 0o700 });
  for (const directory of writable) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if (record.uid !== null) await chown(directory, record.uid, record.uid);
  }
  // Programs expect what every /tmp has; above it are directories that only the owner enters.
  await chmod(files.temporary, 0o1777);
  const isPlain = record.isolation === 'none';
  const config: SandboxdConfig = {
    token: record.token,
    instance: record.instance,
    sandboxId: record.id,
    socketDirectory: isPlain ? files.socket : INSIDE.socket,
    runsDirectory: isPlain ? files.runs : INSIDE.runs,
    cwd: insideCwd(launch),
    workspace: record.paths.workspace,
    ptyDirectory: isPlain ? (launch.host.pty?.resolveFrom ?? null) : launch.host.pty && INSIDE.pty,
  };
  await writeFile(files.config, JSON.stringify(config), { mode: 0o600 });
  if (record.uid !== null) await chown(files.config, record.uid, record.uid);
  await writeFile(files.gitconfig, gitSettings(launch), { mode: 0o644 });
  const shell = '/bin/bash';
  await writeFile(
    files.passwd,
    `root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:${INSIDE.home}:${shell}\n` +
      'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
    { mode: 0o644 },
  );
  await writeFile(files.group, 'root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n', { mode: 0o644 });
};

/**
 * A repository that another uid owns is refused by git unless the system's settings allow it;
 * settings by environment do not reach the git of the other end.
 * Somebody has to be the author of the agent's commits; the repository's own settings come first.
 */
const gitSettings = ({ spec, record }: Launch): string => {
  const tool = join(record.paths.tools, CREDENTIAL_TOOL);
  const helper = JSON.stringify(`!sh ${quote(tool)} git`);
  return [
    '[user]\n\tname = hangar agent\n\temail = agent@hangar.invalid',
    '[include]\n\tpath = /etc/gitconfig\n[safe]\n\tdirectory = *',
    // The empty one forgets those of the machine; the path says which repository it is for [R5].
    ...(spec.gitCredentials
      ? [`[credential]\n\thelper =\n\thelper = ${helper}\n\tuseHttpPath = true`]
      : []),
    '',
  ].join('\n');
};

/** The specification speaks of `/workspace`, whatever it is called here. */
const insideCwd = ({ spec, record }: Launch): string =>
  spec.cwd === INSIDE.workspace || spec.cwd.startsWith(`${INSIDE.workspace}/`)
    ? join(record.paths.workspace, spec.cwd.slice(INSIDE.workspace.length))
    : spec.cwd;

const environment = ({ record, files, spec, stateDirectory }: Launch): Record<string, string> => {
  const isPlain = record.isolation === 'none';
  const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return {
    HOME: record.paths.home,
    USER: 'agent',
    LOGNAME: 'agent',
    SHELL: '/bin/bash',
    // Without isolation the host's own programs are the sandbox's.
    PATH: isPlain ? (process.env.PATH ?? system) : `${INSIDE.home}/.local/bin:${system}`,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    TMPDIR: isPlain ? files.temporary : INSIDE.temporary,
    ...spec.envVars,
    // Nobody is there to type one.
    ...(spec.gitCredentials ? { GIT_TERMINAL_PROMPT: '0' } : {}),
    [CREDENTIALS_VARIABLE]: isPlain ? files.socket : INSIDE.socket,
    GIT_CONFIG_SYSTEM: isPlain ? files.gitconfig : INSIDE.gitconfig,
    [MARKER.sandbox]: sandboxMark(stateDirectory, record.id),
  };
};

const initCommand = ({ record, files, toolbox }: Launch): string[] => {
  const isPlain = record.isolation === 'none';
  const node = isPlain ? toolbox.nodeBinary : INSIDE.node;
  const tools = isPlain ? toolbox.toolsDirectory : INSIDE.tools;
  const config = isPlain ? files.config : INSIDE.config;
  return ['/bin/sh', '-c', INIT, 'hangar-init', node, join(tools, 'sandboxd.mjs'), config];
};

/** Limits of the kernel's oldest kind, for what cgroups do not hold here. */
const resourceLimits = ({ spec, host }: Launch): string[] => {
  const { memoryMb, pids } = spec.resources;
  const limits = ['--core=0'];
  if (!host.cgroups?.parents.pids && pids !== undefined) limits.push(`--nproc=${pids}`);
  if (!host.cgroups?.parents.memory && memoryMb !== undefined) {
    limits.push(`--data=${memoryMb * 1024 * 1024}`);
  }
  return ['prlimit', ...limits, '--'];
};

/** fstab separates by blanks and escapes in octal. */
const inTable = (path: string): string =>
  path.replaceAll(/[ \t\n\\]/g, (each) => `\\${each.charCodeAt(0).toString(8).padStart(3, '0')}`);

/**
 * Lines that make each mount's source reachable for the sandbox's uid, whatever is above it. One
 * process mounts them all: one each takes most of the time that a start takes.
 */
const stageLines = async (launch: Launch): Promise<string[]> => {
  const { files, toolbox, host, spec } = launch;
  const lines = [
    `mount -t tmpfs -o mode=0755,size=1m hangar ${quote(files.stage)}`,
    `cd ${quote(files.stage)}`,
  ];
  const directories: number[] = [];
  const table: string[] = [];
  for (const [index, { source }] of stagedBinds(files, toolbox, host, spec).entries()) {
    if ((await stat(source)).isDirectory()) directories.push(index);
    else lines.push(`: >${index}`);
    table.push(`${inTable(source)} ${inTable(join(files.stage, String(index)))}`);
  }
  table.push(`${inTable(files.stage)} ${STAGE}`);
  await writeFile(files.stageTable, table.map((each) => `${each} none rbind 0 0\n`).join(''), {
    mode: 0o600,
  });
  const mountAll = `mount -a -T ${quote(files.stageTable)}`;
  return [...lines, `mkdir -p ${directories.join(' ')} ${STAGE}`, mountAll, 'cd /'];
};

const bubblewrapLines = async (launch: Launch): Promise<string[]> => {
  const { files, record, host, toolbox, spec, stateDirectory } = launch;
  const reach: Reach = (bind, index) => (host.staged ? `${STAGE}/${index}` : bind.source);
  const argv = bubblewrapArguments(files, toolbox, host, spec, {
    envVars: environment(launch),
    stateDirectory,
    reach,
  });
  const filter = buildSeccompFilter(process.arch);
  await writeFile(files.bwrapArguments, argv.map((each) => `${each}\0`).join(''), { mode: 0o600 });
  if (filter) await writeFile(files.seccomp, filter, { mode: 0o600 });
  const command = [
    ...(record.uid === null ? [] : dropTo(record.uid)),
    'bwrap',
    '--args',
    '7',
    '--info-fd',
    '9',
    ...(filter ? ['--seccomp', '8'] : []),
    '--',
    ...resourceLimits(launch),
    ...initCommand(launch),
  ];
  const redirections = [
    `7<${quote(files.bwrapArguments)}`,
    ...(filter ? [`8<${quote(files.seccomp)}`] : []),
    `9>${quote(files.bwrapStatus)}`,
  ];
  return [
    ...(host.staged ? await stageLines(launch) : []),
    `exec ${command.map(quote).join(' ')} ${redirections.join(' ')}`,
  ];
};

const plainLines = (launch: Launch): string[] => {
  const command = [...resourceLimits(launch), ...initCommand(launch)];
  return [`cd ${quote(launch.record.paths.workspace)}`, `exec ${command.map(quote).join(' ')}`];
};

/** Spawns the sandbox in a session of its own, so that it outlives this process and its group. */
const spawnSandbox = async (launch: Launch): Promise<ChildProcess> => {
  const { files, record, host, stateDirectory } = launch;
  const isPlain = record.isolation === 'none';
  const script = [
    'set -e',
    ...record.cgroups.map((directory) => `echo $$ >${quote(join(directory, 'cgroup.procs'))}`),
    ...(isPlain ? plainLines(launch) : await bubblewrapLines(launch)),
  ];
  await writeFile(files.startScript, `${script.join('\n')}\n`, { mode: 0o600 });
  const shell = ['/bin/sh', files.startScript];
  const argv = host.staged ? ['unshare', '--mount', '--propagation', 'private', ...shell] : shell;
  const mark = sandboxMark(stateDirectory, record.id);
  const minimal = { PATH: process.env.PATH ?? '', [MARKER.sandbox]: mark };
  const log = openSync(files.startLog, 'a', 0o600);
  try {
    return spawn(argv[0]!, argv.slice(1), {
      cwd: isPlain ? record.paths.workspace : '/',
      env: isPlain ? environment(launch) : minimal,
      detached: true,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
};

/** Starts the sandbox and waits for its socket; returns the processes it consists of. */
export const startSandbox = async (
  launch: Launch,
  signal: AbortSignal,
): Promise<{ init: ProcessIdentity; launcher: ProcessIdentity }> => {
  const child = await spawnSandbox(launch);
  child.unref();
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, name) => resolve(name ? `killed by ${name}` : `exit code ${code}`));
  });
  let end: string | null = null;
  void ended.then((how) => {
    end = how;
  });
  const deadline = Date.now() + START_MS;
  while (!(await exists(join(launch.files.socket, SOCKET_NAME)))) {
    signal.throwIfAborted();
    if (end !== null) throw await startError(launch, `it ended at once (${String(end)})`);
    if (Date.now() > deadline) throw await startError(launch, `no answer in ${START_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, START_POLL_MS));
  }
  const launcher = await identify(launch, child.pid!);
  const isPlain = launch.record.isolation === 'none';
  const init = isPlain ? launcher : await identify(launch, await readInitPid(launch));
  return { init, launcher };
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const readInitPid = async (launch: Launch): Promise<number> => {
  const status: unknown = JSON.parse(await readFile(launch.files.bwrapStatus, 'utf8'));
  const pid = (status as { 'child-pid'?: unknown })['child-pid'];
  if (typeof pid === 'number') return pid;
  throw await startError(launch, 'bubblewrap did not say which process is the first');
};

const identify = async (launch: Launch, pid: number): Promise<ProcessIdentity> => {
  const found = await readProcess(pid);
  if (found) return { pid, startTicks: found.startTicks };
  throw await startError(launch, 'it ended while it was started');
};

const startError = async (launch: Launch, why: string): Promise<HangarError> => {
  const log = await readFile(launch.files.startLog, 'utf8').catch(() => '');
  const text = log.trim().slice(-START_LOG_CHARACTERS_MAX);
  return new HangarError(
    'unavailable',
    `The sandbox ${launch.record.id} did not start: ${why}${text ? `: ${text}` : ''}.`,
    { hint: 'Run `hangar doctor` to see what this machine lacks.' },
  );
};
