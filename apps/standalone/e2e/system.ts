import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createHangarClient, type HangarClient } from '@hangar/client';
import type { SandboxDriver, SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const NODE = join(ROOT, 'node_modules/.bin/node');
const REGISTER = join(ROOT, 'libs/service-kit/dist/register.js');
/** For a failing test only: five processes start side by side, on a busy machine in half a minute. */
const UP_MS_MAX = 120_000;
const SERVICES = ['sandboxes', 'sessions', 'checkpoints', 'runs', 'gateway'] as const;

/** `standalone`: one process. `apart`: each service by itself. The same tests pass on both. */
export type Shape = 'standalone' | 'apart';

export const SHAPE: Shape = process.env['HANGAR_TEST_SHAPE'] === 'apart' ? 'apart' : 'standalone';

export type ProcessName = 'standalone' | 'servers' | (typeof SERVICES)[number];

/** Harness packages are fetched once for all tests of a checkout. */
export const HARNESS_CACHE = join(ROOT, 'tmp', 'harnesses');

/** A process that starts again has not to compile hangar again: a quarter of its start. */
const COMPILE_CACHE = join(ROOT, 'tmp', 'compile-cache');

export type ServiceIo = SandboxIo & { close(): void };

export interface SandboxRecord {
  instance: string;
  init: { pid: number };
}

export interface SystemOptions {
  shape?: Shape;
  envVars?: Record<string, string>;
}

/** A whole hangar as its users have it: processes of its own, reached over HTTP. */
export class System {
  readonly state: string;
  readonly shape: Shape;
  readonly #envVars: Record<string, string>;
  readonly #processes = new Map<ProcessName, ChildProcess>();
  readonly #ports = new Map<ProcessName, number>();
  readonly log: string[] = [];
  #settings: Record<string, string> = {};
  port = 0;
  token = '';

  private constructor(state: string, options: SystemOptions) {
    this.state = state;
    this.shape = options.shape ?? SHAPE;
    this.#envVars = options.envVars ?? {};
  }

  static async start(options: SystemOptions = {}): Promise<System> {
    const state = await mkdtemp(join(tmpdir(), 'hangar-e2e-'));
    await chmod(state, 0o755);
    await mkdir(HARNESS_CACHE, { recursive: true });
    await symlink(HARNESS_CACHE, join(state, 'harnesses'));
    const system = new System(state, options);
    system.port = await freePort();
    await system.up();
    return system;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  client(token = this.token): HangarClient {
    return createHangarClient({ url: this.url, token });
  }

  names(): ProcessName[] {
    return this.shape === 'standalone' ? ['standalone'] : ['servers', ...SERVICES];
  }

  /** Starts what does not run, and waits until the whole answers. */
  async up(): Promise<void> {
    if (this.shape === 'apart' && !this.#processes.has('servers')) await this.#startServers();
    for (const name of this.names()) if (!this.#processes.has(name)) await this.#spawn(name);
    await this.ready();
    this.token = (await readFile(join(this.state, 'token'), 'utf8')).trim();
  }

  async ready(): Promise<void> {
    const deadline = Date.now() + UP_MS_MAX;
    for (;;) {
      const answer = await fetch(`${this.url}/health/ready`).catch(() => null);
      if (answer?.ok) return;
      if (Date.now() > deadline)
        throw new Error(`hangar is not up:\n${this.log.slice(-60).join('\n')}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /**
   * Ends processes the hard way; hangar's own when none is named. The process that keeps the servers
   * of the shape apart is not one of them: there Postgres and NATS are somebody else's.
   */
  async kill(...names: ProcessName[]): Promise<void> {
    const victims = names.length ? names : this.names().filter((name) => name !== 'servers');
    await Promise.all(
      victims.map(async (name) => {
        const child = this.#processes.get(name);
        if (!child) return;
        this.#processes.delete(name);
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }),
    );
  }

  /** Asks every process to end, one after the other, the servers last. */
  async stop(signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<void> {
    for (const name of this.names().toReversed()) {
      const child = this.#processes.get(name);
      if (!child || child.exitCode !== null) continue;
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
      this.#processes.delete(name);
    }
  }

  /** Stops everything, also sandboxes that outlived it, and removes the state. */
  async dispose(): Promise<void> {
    await this.kill();
    await this.stop();
    const driver = await this.#driver();
    for (const { id } of await driver.list()) await driver.destroy(id);
    await driver.close();
    // The servers of one that was killed end by themselves, a moment after it; until then they write.
    await rm(this.state, { recursive: true, force: true, maxRetries: REMOVE_RETRIES_MAX });
  }

  /** The streaming API of the sandboxes service, as the other services use it. */
  async io(): Promise<ServiceIo> {
    const { createRemoteSandboxIo } = await import('@hangar/sandbox-drivers/remote');
    const keys = await this.#keys();
    const port = (await readFile(join(this.state, 'io-port'), 'utf8')).trim();
    return createRemoteSandboxIo({ url: `http://127.0.0.1:${port}`, token: keys.serviceToken });
  }

  /** A statement of somebody who got at the database, past the trigger that guards the log. */
  async sql<Row extends object>(text: string): Promise<Row[]> {
    const keys = await this.#keys();
    const port = Number(await readFile(join(this.state, 'postgres', 'port'), 'utf8'));
    const { default: pg } = await import('pg');
    const password = keys.postgresPassword;
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'hangar',
      database: 'hangar',
      password,
    });
    await client.connect();
    try {
      await client.query("set es.maintenance = 'on'");
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async #keys(): Promise<{ serviceToken: string; postgresPassword: string }> {
    const text = await readFile(join(this.state, 'keys.json'), 'utf8');
    return JSON.parse(text) as { serviceToken: string; postgresPassword: string };
  }

  sandboxDirectory(id: string): string {
    return join(this.state, 'sandboxes', id);
  }

  /** What the local driver keeps about a sandbox: its processes and which computer it is. */
  async sandboxRecord(id: string): Promise<SandboxRecord> {
    const text = await readFile(join(this.sandboxDirectory(id), 'record.json'), 'utf8');
    return JSON.parse(text) as SandboxRecord;
  }

  async sandboxRef(id: string): Promise<SandboxRef> {
    return { id, instance: (await this.sandboxRecord(id)).instance };
  }

  /** Ends the first process of a sandbox's pid space, and with it all others in it. */
  async killSandbox(id: string): Promise<void> {
    process.kill((await this.sandboxRecord(id)).init.pid, 'SIGKILL');
  }

  /** sandboxd as this machine sees it: the child of the sandbox's first process. */
  async sandboxdOf(id: string): Promise<number> {
    const { init } = await this.sandboxRecord(id);
    return findProcess((command, parent) => parent === init.pid && /sandboxd/.test(command));
  }

  /** Ends one of the servers that hangar keeps for itself, the hard way. */
  async killServer(server: 'postgres' | 'nats-server'): Promise<void> {
    const mark = join(this.state, server === 'postgres' ? 'postgres/data' : 'nats/nats.conf');
    const isServer = new RegExp(`^[^ ]*${server} `);
    const pid = await findProcess((command) => isServer.test(command) && command.includes(mark));
    process.kill(pid, 'SIGKILL');
  }

  /** A sandbox as one whose session's log was lost leaves it, old enough to be nobody's. */
  async makeOrphan(id: string): Promise<void> {
    const driver = await this.#driver();
    const spec = { id, sessionId: 'ses-0badcafe', cwd: '/workspace/app', envVars: {} };
    await driver.create({ ...spec, network: 'open', mounts: [], resources: {} });
    await driver.close();
    const file = join(this.sandboxDirectory(id), 'record.json');
    const createdAt = new Date(Date.now() - ORPHAN_AGE_MS).toISOString();
    const record = { ...(await this.sandboxRecord(id)), createdAt };
    await writeFile(`${file}.new`, JSON.stringify(record));
    await rename(`${file}.new`, file);
  }

  async #driver(): Promise<SandboxDriver> {
    const { createLocalDriver } = await import('@hangar/sandbox-drivers/local');
    return createLocalDriver({
      stateDirectory: this.state,
      toolsDirectory: join(ROOT, 'dist/tools'),
      nodeBinary: process.execPath,
    });
  }

  async #startServers(): Promise<void> {
    const child = this.#launch('servers', 'apps/standalone/dist/servers-main.js', {});
    const lines = createInterface({ input: child.stdout! });
    const [line] = (await once(lines, 'line')) as [string];
    this.#settings = JSON.parse(line) as Record<string, string>;
  }

  async #spawn(name: ProcessName): Promise<void> {
    const settings = this.shape === 'apart' ? this.#settings : {};
    // A replica that comes back has its old address, and by it takes its own unfinished work over.
    const port = this.#ports.get(name) ?? (isDoor(name) ? this.port : await freePort());
    this.#ports.set(name, port);
    const main = `apps/${name}/dist/main.js`;
    this.#launch(name, main, { ...settings, HANGAR_PORT: String(port) });
  }

  #launch(name: ProcessName, main: string, envVars: Record<string, string>): ChildProcess {
    const child = spawn(NODE, ['--import', REGISTER, join(ROOT, main)], {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        HANGAR_STATE: this.state,
        HANGAR_LOG_LEVEL: 'warn',
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        ...this.#envVars,
        ...envVars,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout!, child.stderr!])
      createInterface({ input: stream }).on('line', (line) => {
        this.log.push(`${name}: ${line}`);
        if (LOG_FILE) appendFileSync(LOG_FILE, `${name}: ${line}\n`);
        if (this.log.length > LOG_LINES_MAX) this.log.shift();
      });
    child.once('exit', () => {
      if (this.#processes.get(name) === child) this.#processes.delete(name);
    });
    this.#processes.set(name, child);
    return child;
  }
}

/** Each a tenth of a second longer than the one before. */
const REMOVE_RETRIES_MAX = 12;
const LOG_LINES_MAX = 2000;
/** For whoever looks for the cause of a failure: everything that the processes print. */
const LOG_FILE = process.env['HANGAR_TEST_LOG'];

/** More than the minute for which a sandbox without a log may still be somebody's. */
const ORPHAN_AGE_MS = 600_000;

/** The one process whose command line (words joined by blanks) and parent fit. */
async function findProcess(fits: (command: string, parent: number) => boolean): Promise<number> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (fits(command.replaceAll('\0', ' '), parent)) found.push(Number(pid));
  }
  const [pid, ...more] = found;
  if (pid === undefined || more.length > 0) throw new Error(`${found.length} processes fit`);
  return pid;
}

const isDoor = (name: ProcessName): boolean => name === 'gateway' || name === 'standalone';

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
