import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { HangarError } from '@hangar/contracts';
import { leash } from './leash.ts';
import { choosePort } from './port.ts';

export interface NatsOptions {
  /** Holds `store/` (JetStream), `nats.conf` (mode 0600) and `port`. */
  directory: string;
  /** 0 picks a free port and remembers it in the directory. */
  port: number;
  /** Who may connect; the password never appears on a command line. */
  user: string;
  password: string;
  unref?: boolean;
}

export interface EmbeddedNats {
  /** Address without user and password: pass those as connection options. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly port: number;
  readonly pid: number;
  /** Version of the server, for example 2.9.10. */
  readonly version: string;
  /** What to tell the person about this version, if anything. */
  readonly warning: string | undefined;
  /** The JetStream store. */
  readonly store: string;
  readonly gone: Promise<string>;
  stop(): Promise<void>;
}

const START_MS_MAX = 15_000;
const VERSION_MS_MAX = 5_000;
/** The oldest server with all that hangar uses, and the oldest still maintained. */
const MINOR_MIN = 9;
const MINOR_MAINTAINED = 12;

/** Starts nats-server with JetStream on loopback; it ends when this process ends. */
export async function startNats(options: NatsOptions): Promise<EmbeddedNats> {
  const file = process.env['NATS_SERVER'] ?? 'nats-server';
  const version = await serverVersion(file);
  const minor = Number(version.split('.')[1]);
  const directory = resolve(options.directory);
  const store = join(directory, 'store');
  await mkdir(store, { recursive: true, mode: 0o700 });
  const port = await choosePort(options.port, join(directory, 'port'));
  const configuration = join(directory, 'nats.conf');
  await writeFile(configuration, render(options, store, port, minor), { mode: 0o600 });
  const server = await leash({
    file,
    args: ['-c', configuration],
    signal: 'TERM',
    ...(options.unref ? { unref: true } : {}),
  });
  try {
    await server.ready('Server is ready', START_MS_MAX);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    url: `nats://127.0.0.1:${port}`,
    user: options.user,
    password: options.password,
    port,
    pid: server.pid,
    version,
    warning: minor < MINOR_MAINTAINED ? oldServer(version) : undefined,
    store,
    gone: server.gone,
    stop: () => server.stop(),
  };
}

const oldServer = (version: string): string =>
  `nats-server ${version} is no longer maintained; 2.${MINOR_MAINTAINED} or newer is recommended`;

/** JSON strings are valid strings of the server's configuration language. */
function render(options: NatsOptions, store: string, port: number, minor: number): string {
  const text = JSON.stringify;
  // 2.9 refuses `sync_interval`; there the relay repairs a lost tail from Postgres.
  const sync = minor >= 10 ? '  sync_interval: always\n' : '';
  return [
    `listen: "127.0.0.1:${port}"`,
    'server_name: hangar',
    'max_payload: 4MB',
    `authorization { user: ${text(options.user)}, password: ${text(options.password)}, timeout: 10 }`,
    `jetstream {\n  store_dir: ${text(store)}\n${sync}}`,
    '',
  ].join('\n');
}

async function serverVersion(file: string): Promise<string> {
  const hint =
    'Install it ("apt-get install nats-server", "brew install nats-server") or set NATS_SERVER to its path.';
  let output: string;
  try {
    const run = promisify(execFile)(file, ['--version'], { timeout: VERSION_MS_MAX });
    output = (await run).stdout;
  } catch (cause) {
    throw new HangarError('unavailable', `nats-server was not found as "${file}"`, { hint, cause });
  }
  const version = /(\d+\.\d+\.\d+)/.exec(output)?.[1];
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  if (version === undefined || major < 2 || (major === 2 && minor < MINOR_MIN)) {
    const message = `nats-server 2.${MINOR_MIN} or newer is needed; found: ${output.trim()}`;
    throw new HangarError('unavailable', message, { hint });
  }
  return version;
}
