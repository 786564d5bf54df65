import { randomBytes, randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError } from '@hangar/contracts';
import type { SandboxRef, SandboxSpec } from '../sandbox-driver.ts';
import { cgroupName, createCgroups } from './cgroup-limits.ts';
import { connectSandboxd } from './connection.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { HostSupport } from './host-support.ts';
import { prepareFiles, startSandbox } from './launch.ts';
import { checkMounts, namespacePaths, plainPaths, type Toolbox } from './layout.ts';
import { isAlive, readProcess } from './process-table.ts';
import {
  claimDirectory,
  readBootId,
  readRecord,
  sandboxesDirectory,
  sandboxFiles,
  sandboxMark,
  writeRecord,
  type SandboxRecord,
} from './record.ts';
import { reserveUid } from './uid-slots.ts';

/** Processes of a sandbox whose specification names no limit: room for any build, none for a bomb. */
const PIDS_DEFAULT = 4096;
/** How long another process's creation of the same sandbox is waited for. */
const OTHER_CREATOR_MS = 30_000;
const OTHER_CREATOR_POLL_MS = 25;

export interface CreateContext extends Toolbox {
  stateDirectory: string;
  host: () => Promise<HostSupport>;
  log?: (message: string, fields: Record<string, unknown>) => void;
}

/** Makes the sandbox, or finds the one that is there; see `SandboxDriver.create`. */
export const createSandbox = async (
  context: CreateContext,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<SandboxRef> => {
  const host = await context.host();
  checkMounts(spec);
  if (spec.network === 'none' && host.isolation === 'none') {
    throw new HangarError('invalid', 'Without isolation the network cannot be cut off.', {
      hint: 'Install bubblewrap, or use an environment with an open network.',
    });
  }
  const directory = join(sandboxesDirectory(context.stateDirectory), spec.id);
  const record = await newRecord(context, host, spec);
  while (!(await claimDirectory(directory, record))) {
    const other = await awaitOther(directory, spec, signal);
    if (other) return other;
    await destroySandbox(context.stateDirectory, spec.id);
  }
  try {
    return await makeSandbox(context, host, spec, record, signal);
  } catch (error) {
    await destroySandbox(context.stateDirectory, spec.id);
    throw error;
  }
};

const newRecord = async (
  context: CreateContext,
  host: HostSupport,
  spec: SandboxSpec,
): Promise<SandboxRecord> => {
  const directory = join(sandboxesDirectory(context.stateDirectory), spec.id);
  const self = await readProcess(process.pid);
  const isPlain = host.isolation === 'none';
  return {
    version: 1,
    id: spec.id,
    sessionId: spec.sessionId,
    instance: randomUUID(),
    token: randomBytes(32).toString('hex'),
    createdAt: new Date().toISOString(),
    phase: 'creating',
    isolation: host.isolation,
    bootId: await readBootId(),
    creator: { pid: process.pid, startTicks: self?.startTicks ?? 0 },
    uid: null,
    init: null,
    launcher: null,
    cgroups: [],
    paths: isPlain
      ? plainPaths(spec, sandboxFiles(directory), context, sessionDirectory(context, spec))
      : namespacePaths(spec),
  };
};

const sessionDirectory = (context: CreateContext, spec: SandboxSpec): string =>
  join(sandboxesDirectory(context.stateDirectory), 'by-session', spec.sessionId);

/** The sandbox that somebody else made or makes; null when its maker left it unfinished. */
const awaitOther = async (
  directory: string,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<SandboxRef | null> => {
  const deadline = Date.now() + OTHER_CREATOR_MS;
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    const found = await readRecord(directory);
    if (found.state === 'absent') return null;
    if (found.state === 'unreadable') {
      throw new HangarError('conflict', `The record of sandbox ${spec.id} cannot be read.`, {
        hint: 'Destroy the sandbox; its session resumes from the newest checkpoint.',
      });
    }
    const { record } = found;
    const isThisBoot = record.bootId === (await readBootId());
    if (record.phase === 'ready') {
      if (isThisBoot && record.init && (await isAlive(record.init))) {
        return { id: record.id, instance: record.instance };
      }
      throw new HangarError('conflict', `The sandbox ${spec.id} exists and has stopped.`, {
        hint: 'Destroy it; its session resumes from the newest checkpoint in a new one.',
      });
    }
    if (!isThisBoot || !(await isAlive(record.creator))) return null;
    await new Promise((done) => setTimeout(done, OTHER_CREATOR_POLL_MS));
  }
  throw new HangarError('unavailable', `The sandbox ${spec.id} is still being made elsewhere.`);
};

const makeSandbox = async (
  context: CreateContext,
  host: HostSupport,
  spec: SandboxSpec,
  record: SandboxRecord,
  signal: AbortSignal,
): Promise<SandboxRef> => {
  const { stateDirectory } = context;
  const directory = join(sandboxesDirectory(stateDirectory), spec.id);
  const files = sandboxFiles(directory);
  if (host.isRoot && record.isolation === 'namespaces') {
    record.uid = await reserveUid(stateDirectory, spec.id);
  }
  if (host.cgroups) {
    const limits = { ...spec.resources, pids: spec.resources.pids ?? PIDS_DEFAULT };
    const name = cgroupName(sandboxMark(stateDirectory, spec.id));
    record.cgroups = await createCgroups(host.cgroups, name, limits);
  }
  // From here on a destroy after a crash finds everything that was made.
  await writeRecord(directory, record);
  if (record.isolation === 'none') await takeSessionDirectory(context, spec);
  const toolbox = {
    nodeBinary: realpathSync(context.nodeBinary),
    toolsDirectory: realpathSync(context.toolsDirectory),
  };
  const launch = { record, files, spec, host, toolbox, stateDirectory };
  await prepareFiles(launch);
  signal.throwIfAborted();
  Object.assign(record, await startSandbox(launch, signal), { phase: 'ready' });
  (await connectSandboxd(files.socket, record)).destroy();
  signal.throwIfAborted();
  await writeRecord(directory, record);
  context.log?.('sandbox created', { sandbox: spec.id, isolation: record.isolation });
  return { id: spec.id, instance: record.instance };
};

/** The workspace of a session belongs to one sandbox at a time. */
const takeSessionDirectory = async (context: CreateContext, spec: SandboxSpec): Promise<void> => {
  const directory = sessionDirectory(context, spec);
  await mkdir(join(directory, '..'), { recursive: true, mode: 0o700 });
  const owner = join(directory, 'owner');
  const isNew = await mkdir(directory, { mode: 0o700 }).then(
    () => true,
    () => false,
  );
  const current = isNew ? spec.id : await readFile(owner, 'utf8').catch(() => '');
  const ownerDirectory = join(sandboxesDirectory(context.stateDirectory), current || 'none');
  if (current !== spec.id && (await readRecord(ownerDirectory)).state !== 'absent') {
    throw new HangarError(
      'conflict',
      `The session ${spec.sessionId} has a sandbox already: ${current}.`,
      { hint: 'Destroy that sandbox first.' },
    );
  }
  if (!isNew) await rm(join(directory, 'workspace'), { recursive: true, force: true });
  await writeFile(owner, spec.id, { mode: 0o600 });
  await mkdir(join(directory, 'workspace'), { recursive: true, mode: 0o700 });
};
