import { mkdirSync, realpathSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';
import type {
  DriverCapabilities,
  SandboxDriver,
  SandboxRef,
  SandboxSpec,
  SandboxStatus,
} from '../sandbox-driver.ts';
import { connectSandboxd } from './connection.ts';
import { createSandbox, type CreateContext } from './create-sandbox.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import { detectHost, type HostSupport } from './host-support.ts';
import { createSandboxIo } from './io.ts';
import { isAlive } from './process-table.ts';
import {
  readBootId,
  readRecord,
  sandboxesDirectory,
  sandboxFiles,
  type SandboxRecord,
} from './record.ts';
import type { Mux } from './wire/mux.ts';

export interface LocalDriverOptions {
  /** All of the driver's state; sandboxes of an earlier process are found here. */
  stateDirectory: string;
  /** Holds `sandboxd.mjs` and hangar's other single-file tools; readable by everybody. */
  toolsDirectory: string;
  nodeBinary: string;
  /** `none` forces plain processes; else bubblewrap where it works. */
  isolation?: 'auto' | 'none';
  log?: (message: string, fields: Record<string, unknown>) => void;
}

const SANDBOX_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** sandboxd is started again within this when the agent killed it. */
const RECONNECT_MS = 5000;
const RECONNECT_PAUSE_MS = 50;
/** After a lost connection it is known within this whether the sandbox ended or only sandboxd. */
const GONE_MS = 2000;

export const createLocalDriver = (options: LocalDriverOptions): SandboxDriver => {
  mkdirSync(sandboxesDirectory(options.stateDirectory), { recursive: true, mode: 0o700 });
  // By its one true path: what it marks on this machine has to be found by every later process.
  const stateDirectory = realpathSync(options.stateDirectory);
  const isolation = options.isolation ?? isolationFromEnvironment();
  let detected: Promise<HostSupport> | undefined;
  const host = (): Promise<HostSupport> => (detected ??= detectHost(isolation));
  const links = new SandboxLinks(stateDirectory);
  const context: CreateContext = { ...options, stateDirectory, host };
  const inFlight = new Map<string, { made: Promise<SandboxRef>; aborter: AbortController }>();
  const directoryOf = (id: string): string => join(sandboxesDirectory(stateDirectory), id);

  return {
    kind: 'local',
    ...createSandboxIo(links),
    async probe() {
      const found = await host();
      return { capabilities: capabilitiesOf(found), problems: found.problems };
    },
    async create(spec: SandboxSpec, signal) {
      checkId(spec.id);
      checkId(spec.sessionId);
      signal?.throwIfAborted();
      let flight = inFlight.get(spec.id);
      if (!flight) {
        const aborter = new AbortController();
        const made = createSandbox(context, spec, aborter.signal);
        flight = { made, aborter };
        inFlight.set(spec.id, flight);
        void made.catch(() => undefined).finally(() => inFlight.delete(spec.id));
        // Only the one who started it may end it: others wait for the same sandbox.
        signal?.addEventListener('abort', () => aborter.abort(signal.reason));
      }
      return flight.made;
    },
    async get(id) {
      checkId(id);
      return statusOf(directoryOf(id), id);
    },
    async list() {
      const names = await readdir(sandboxesDirectory(stateDirectory));
      const all = await Promise.all(
        names
          .filter((name) => SANDBOX_ID.test(name) && name !== 'by-session')
          .map(async (id) => {
            const status = await statusOf(directoryOf(id), id);
            return status && { id, status, ...(await describe(directoryOf(id))) };
          }),
      );
      return all.filter((each) => each !== null);
    },
    async destroy(id) {
      checkId(id);
      const flight = inFlight.get(id);
      flight?.aborter.abort(new HangarError('conflict', `The sandbox ${id} was destroyed.`));
      await flight?.made.catch(() => undefined);
      links.drop(id);
      await destroySandbox(stateDirectory, id);
      options.log?.('sandbox destroyed', { sandbox: id });
    },
    close() {
      links.close();
      return Promise.resolve();
    },
  };
};

const isolationFromEnvironment = (): 'auto' | 'none' =>
  process.env.HANGAR_LOCAL_ISOLATION === 'none' ? 'none' : 'auto';

const checkId = (id: string): void => {
  if (SANDBOX_ID.test(id)) return;
  throw new HangarError('invalid', `${JSON.stringify(id)} cannot name a sandbox or a session.`);
};

const capabilitiesOf = (host: HostSupport): DriverCapabilities => {
  const isIsolated = host.isolation === 'namespaces';
  const { memory, cpu, pids } = host.cgroups?.parents ?? {};
  return {
    isolation: host.isolation,
    stablePath: isIsolated,
    pty: host.pty !== null,
    networkCut: isIsolated,
    limits: {
      memory: memory !== undefined,
      cpu: cpu !== undefined,
      // Inside a user namespace of its own, the kernel counts the processes of that namespace.
      pids: pids !== undefined || isIsolated,
      disk: false,
    },
    survivesControlPlaneRestart: true,
  };
};

/** Why no process of the record can be alive, or null when its first one is. */
const whyStopped = async (record: SandboxRecord): Promise<string | null> => {
  if (record.bootId !== (await readBootId())) return 'this machine was restarted';
  if (!record.init) return 'it was never started to its end';
  return (await isAlive(record.init)) ? null : 'its processes have ended';
};

/** A table of processes that cannot be read says nothing about them [S5]. */
const unknownState = (cause: unknown): never => {
  throw new HangarError('unavailable', 'It cannot be seen whether the sandbox is alive.', {
    cause,
  });
};

/** Reads and nothing else [S5]. */
const statusOf = async (directory: string, id: string): Promise<SandboxStatus | null> => {
  const found = await readRecord(directory);
  if (found.state === 'found') {
    const { record } = found;
    const ref = { id, instance: record.instance };
    const why = await whyStopped(record);
    if (record.phase === 'ready' && why === null)
      return { phase: 'ready', ref, paths: record.paths };
    // One that is just being made is not there yet.
    if (record.phase === 'creating' && (await isBeingMade(record))) return null;
    return { phase: 'stopped', ref, reason: why ?? 'it was never started to its end' };
  }
  const isThere = await stat(directory).then(
    () => true,
    () => false,
  );
  if (!isThere) return null;
  return {
    phase: 'stopped',
    ref: { id, instance: '' },
    reason: 'its record cannot be read',
  };
};

const isBeingMade = async (record: SandboxRecord): Promise<boolean> =>
  record.bootId === (await readBootId()) && (await isAlive(record.creator));

const describe = async (directory: string): Promise<{ sessionId: string; createdAt: Date }> => {
  const found = await readRecord(directory);
  if (found.state === 'found') {
    return { sessionId: found.record.sessionId, createdAt: new Date(found.record.createdAt) };
  }
  const createdAt = await stat(directory).then(
    ({ ctime }) => ctime,
    () => new Date(0),
  );
  return { sessionId: '', createdAt };
};

/** One connection per sandbox, made when needed and again after it was lost. */
class SandboxLinks {
  private readonly stateDirectory: string;
  private readonly links = new Map<string, { instance: string; mux: Promise<Mux | null> }>();
  private closed = false;

  constructor(stateDirectory: string) {
    this.stateDirectory = stateDirectory;
  }

  async connect(ref: SandboxRef): Promise<Mux | null> {
    checkId(ref.id);
    if (this.closed) throw new HangarError('unavailable', 'The local driver was closed.');
    const link = this.links.get(ref.id);
    if (link && link.instance === ref.instance) {
      const mux = await link.mux;
      if (mux?.alive) return mux;
      if (this.links.get(ref.id) === link) this.links.delete(ref.id);
      else return this.connect(ref);
    }
    const mux = this.dial(ref);
    const made = { instance: ref.instance, mux };
    this.links.set(ref.id, made);
    mux.catch(() => this.links.get(ref.id) === made && this.links.delete(ref.id));
    return mux;
  }

  /**
   * sandboxd ends a moment before PID 1 does when the sandbox ends, and is started again when only
   * it was killed; which of the two it was is known when either is seen.
   */
  async isGone(ref: SandboxRef): Promise<boolean> {
    const deadline = Date.now() + GONE_MS;
    while (!this.closed && Date.now() < deadline) {
      try {
        const mux = await this.dialOnce(ref);
        mux?.destroy();
        return mux === null;
      } catch {
        await new Promise((done) => setTimeout(done, RECONNECT_PAUSE_MS));
      }
    }
    return false;
  }

  drop(id: string): void {
    const link = this.links.get(id);
    this.links.delete(id);
    void link?.mux.then(
      (mux) => mux?.destroy(),
      () => undefined,
    );
  }

  close(): void {
    this.closed = true;
    for (const id of this.links.keys()) this.drop(id);
  }

  private async find(ref: SandboxRef): Promise<SandboxRecord | null> {
    const directory = join(sandboxesDirectory(this.stateDirectory), ref.id);
    const found = await readRecord(directory);
    if (found.state === 'unreadable') {
      throw new HangarError('unavailable', `The record of sandbox ${ref.id} cannot be read.`);
    }
    if (found.state === 'absent' || found.record.instance !== ref.instance) return null;
    return (await whyStopped(found.record).catch(unknownState)) === null ? found.record : null;
  }

  private async dialOnce(ref: SandboxRef): Promise<Mux | null> {
    const record = await this.find(ref);
    if (!record) return null;
    const { socket } = sandboxFiles(join(sandboxesDirectory(this.stateDirectory), ref.id));
    return connectSandboxd(socket, record);
  }

  private async dial(ref: SandboxRef): Promise<Mux | null> {
    const deadline = Date.now() + RECONNECT_MS;
    for (;;) {
      try {
        return await this.dialOnce(ref);
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
      await new Promise((done) => setTimeout(done, RECONNECT_PAUSE_MS));
    }
  }
}
