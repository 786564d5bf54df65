import type { Readable } from 'node:stream';
import {
  HangarError,
  type CheckpointPart,
  type Continuity,
  type SandboxPlace,
} from '@hangar/contracts';
import { metaOfEffect, type LeasedEffect } from '@hangar/messaging';
import type { SandboxIo } from '@hangar/sandbox-drivers';
import type { CheckpointCommand } from './checkpoint.decider.ts';
import type { Checkpoints } from './checkpoint.service.ts';
import type { CheckpointStore } from './checkpoint.store.ts';
import type { CheckpointRequest } from './checkpoint.ts';
import { checkPart, readMeta } from './part-check.ts';
import type { ResidentTools } from './resident-tool.ts';
import { SandboxGone, ToolRefusal, callTool, refOf } from './sandbox-tool.ts';
import {
  omissions,
  readCaptureReport,
  readRestoreReport,
  shown,
  type Capture,
} from './tool-reports.ts';
import type { CaptureRequest, CheckpointMeta, PartEntry, RestoreRequest } from './tool/contract.ts';

export interface CheckpointCaps {
  partBytesMax: number;
  untrackedBytesMax: number;
}

export interface WorkerOptions {
  checkpoints: Checkpoints;
  store: CheckpointStore;
  io: SandboxIo;
  tools: ResidentTools;
  /** Where a harness keeps its conversation, relative to HOME [C7]. */
  conversationDirectories(harness: string): readonly string[];
  /** Of the session's environment, or the settings'. */
  caps(sessionId: string): Promise<CheckpointCaps>;
  now(): Date;
}

/** A capture or a restore inside the sandbox takes no longer than this. */
const TOOL_MS_MAX = 10 * 60_000;
/** With moving its parts: a way that hangs holds no place for ever. */
const TRY_MS_MAX = 2 * TOOL_MS_MAX;
/** Tries at what may pass by itself; then the session is told. */
const ATTEMPTS_MAX = 4;
const UNPACKED_BYTES_MAX = 64 * 1024 ** 3;

export interface CheckpointWorker {
  take(effect: LeasedEffect, signal: AbortSignal): Promise<void>;
  restore(effect: LeasedEffect, signal: AbortSignal): Promise<void>;
  remove(effect: LeasedEffect, signal: AbortSignal): Promise<void>;
}

/** The slow outside work of checkpoints. What is stored is decided by the manifest, written last. */
export function createCheckpointWorker(options: WorkerOptions): CheckpointWorker {
  const { checkpoints, store, now } = options;
  const tell = async (
    effect: LeasedEffect,
    command: { type: CheckpointCommand['type']; data: object },
  ): Promise<void> => {
    const id = String(effect.payload['checkpoint_id']);
    const full = { ...command, now: now().toISOString() } as CheckpointCommand;
    await checkpoints.execute(id, full, { meta: metaOfEffect(effect.payload, 'checkpoints') });
  };
  return {
    take: async (effect, signal) => {
      const id = String(effect.payload['checkpoint_id']);
      const { state } = await checkpoints.load(id);
      if (state?.status === 'requested' && state.request) {
        try {
          await tell(effect, await capture(options, state.request, bounded(signal)));
        } catch (error) {
          signal.throwIfAborted();
          if (!isTerminal(error) && effect.attempt < ATTEMPTS_MAX) throw error;
          await tell(effect, { type: 'MarkFailed', data: { error: messageOf(error) } });
        }
      }
      // Dropped while it was being taken, now or by a try that was cut: its blobs are nobody's.
      const { state: after } = await checkpoints.load(id);
      if (!after || after.status === 'taken') return;
      if (isEnded(after.drop_reason)) await store.deleteSession(after.session_id);
      else await store.delete(after.session_id, id);
    },
    restore: async (effect, signal) => {
      const id = String(effect.payload['checkpoint_id']);
      const epoch = Number(effect.payload['epoch']);
      const { state } = await checkpoints.load(id);
      if (state?.restores[epoch] !== 'requested') return;
      try {
        const place = effect.payload['place'] as unknown as SandboxPlace;
        const harness = String(effect.payload['harness']);
        const about = { sessionId: state.session_id, checkpointId: id, place, harness };
        const continuity = await restore(options, about, bounded(signal));
        await tell(effect, { type: 'MarkRestored', data: { epoch, continuity } });
      } catch (error) {
        signal.throwIfAborted();
        if (!isTerminal(error) && effect.attempt < ATTEMPTS_MAX) throw error;
        const code = error instanceof ToolRefusal ? shown(error.code) : 'error';
        const data = { epoch, code, error: messageOf(error) };
        await tell(effect, { type: 'MarkRestoreFailed', data });
      }
    },
    remove: async (effect) => {
      const { checkpoint_id, session_id, reason } = effect.payload;
      if (isEnded(reason)) await store.deleteSession(String(session_id));
      else await store.delete(String(session_id), String(checkpoint_id));
    },
  };
}

const isTerminal = (error: unknown): boolean =>
  error instanceof ToolRefusal ||
  error instanceof SandboxGone ||
  (error instanceof HangarError &&
    (error.code === 'invalid' || error.code === 'not_found' || error.code === 'exhausted'));

const messageOf = (error: unknown): string =>
  shown(error instanceof Error ? error.message : String(error));

/** Then all of the session goes, with what its checkpoints leaned on [S6]. */
const isEnded = (reason: unknown): boolean => reason === 'archived' || reason === 'deleted';

const bounded = (signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(TRY_MS_MAX)]);

async function capture(
  options: WorkerOptions,
  request: CheckpointRequest,
  signal: AbortSignal,
): Promise<{ type: 'MarkTaken' | 'MarkSkipped'; data: object }> {
  const { io, store, tools } = options;
  const { session_id, checkpoint_id, place } = request;
  const [bases, caps] = await Promise.all([store.bases(session_id), options.caps(session_id)]);
  const out = `${place.home}/.hangar/checkpoints/${checkpoint_id}`;
  const knownBase = bases.flatMap((b) => b.prerequisites);
  const asked = captureRequest(options, request, { out, caps, knownBase });
  const answer = await tools.capture(place, asked, { timeoutMs: TOOL_MS_MAX, signal });
  const report = readCaptureReport(answer, {
    unlessFingerprint: request.unless_fingerprint,
    cappedBytesMax: Math.max(caps.partBytesMax, caps.untrackedBytesMax),
  });
  if (report.unchanged)
    return { type: 'MarkSkipped', data: { same_as: request.unless_checkpoint_id ?? '' } };
  await storeParts(options, request, report, out, signal);
  await io.files.remove(refOf(place), out);
  const { head, base, complete, skipped, warnings, fingerprint } = report;
  return {
    type: 'MarkTaken',
    data: {
      complete,
      ...(head === null ? {} : { head }),
      ...(base === null ? {} : { base }),
      parts: report.parts.map(({ name, size, sha256 }): CheckpointPart => ({ name, size, sha256 })),
      skipped: omissions(skipped, 'paths were left out'),
      warnings: omissions(warnings, 'warnings'),
      fingerprint,
      taken_at: options.now().toISOString(),
    },
  };
}

function captureRequest(
  { conversationDirectories }: WorkerOptions,
  request: CheckpointRequest,
  { out, caps, knownBase }: { out: string; caps: CheckpointCaps; knownBase: string[] },
): CaptureRequest {
  const { base_branch, harness_session, unless_fingerprint } = request;
  return {
    format: 1,
    checkpoint_id: request.checkpoint_id,
    session_id: request.session_id,
    reason: request.reason as CaptureRequest['reason'],
    work: request.place.cwd,
    home: request.place.home,
    out,
    conversation_directories: [...conversationDirectories(request.harness)],
    ...(base_branch === undefined ? {} : { base_branch }),
    harness: request.harness,
    ...(harness_session === undefined ? {} : { harness_session }),
    cwd: request.place.cwd,
    caps: {
      part_bytes_max: caps.partBytesMax,
      untracked_bytes_max: caps.untrackedBytesMax,
      file_bytes_max: caps.partBytesMax,
      unpacked_bytes_max: UNPACKED_BYTES_MAX,
    },
    ...(unless_fingerprint === undefined ? {} : { unless_fingerprint }),
    known_base: knownBase,
    zstd: true,
  };
}

/** Out of the sandbox, through the checks, sealed, into the store; the manifest comes last. */
async function storeParts(
  options: WorkerOptions,
  request: CheckpointRequest,
  report: Capture,
  out: string,
  signal: AbortSignal,
): Promise<void> {
  const { io, store } = options;
  const { session_id, checkpoint_id, place, harness } = request;
  const sink = store.begin(session_id, checkpoint_id);
  const rules = {
    conversationDirectories: options.conversationDirectories(harness),
    unpackedBytesMax: UNPACKED_BYTES_MAX,
  };
  // One that fails ends the others: none goes on writing when the next try begins.
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const move = async (part: PartEntry): Promise<CheckpointPart[]> => {
    const file = await io.files.get(refOf(place), `${out}/${part.name}`, { signal: either });
    if (!file) throw new ToolRefusal('corrupt', `the part ${part.name} was announced but not made`);
    const entry = { name: part.name, size: part.size, sha256: part.sha256 };
    const body: Readable = checkPart(part, file.body, rules);
    if (part.name === 'base.pack') {
      await store.putBase(session_id, checkpoint_id, entry, report.prerequisites, body, either);
      return [];
    }
    await sink.put(entry, body, either);
    return [entry];
  };
  // There are ten kinds of parts: all at once is not many.
  const moving = report.parts.map((part) => move(part));
  const stored = await Promise.all(moving).catch(async (error: unknown) => {
    failure.abort(error);
    await Promise.allSettled(moving);
    throw error;
  });
  // Whoever lost the lease meanwhile leaves the outcome to the one who has it [M5].
  signal.throwIfAborted();
  await sink.commit(stored.flat());
}

/** `base.pack` is brought when it is missed. */
const NOT_FOR_RESTORE: ReadonlySet<string> = new Set(['meta.json', 'base.pack', 'changes.json']);

async function restore(
  options: WorkerOptions,
  about: { sessionId: string; checkpointId: string; place: SandboxPlace; harness: string },
  signal: AbortSignal,
): Promise<Continuity> {
  const { io, store, conversationDirectories } = options;
  const { sessionId, checkpointId, place, harness } = about;
  const manifest = await store.manifest(sessionId, checkpointId);
  if (!manifest) throw new ToolRefusal('missing', `${checkpointId} is not in the store`);
  const meta: CheckpointMeta = await readMeta(await store.open(manifest, 'meta.json'));
  const parts = `${place.home}/.hangar/restore/${checkpointId}`;
  const rules = {
    conversationDirectories: conversationDirectories(harness),
    unpackedBytesMax: UNPACKED_BYTES_MAX,
  };
  const put = async (name: string, body: Readable): Promise<void> => {
    await io.files.put(refOf(place), `${parts}/${name}`, body, { mode: 0o600, signal });
  };
  const wanted = meta.parts.filter(({ name }) => !NOT_FOR_RESTORE.has(name));
  // All come to their end, so that a next try meets none of them.
  const moved = await Promise.allSettled(
    wanted.map(async (part) =>
      put(part.name, checkPart(part, await store.open(manifest, part.name), rules)),
    ),
  );
  for (const each of moved) if (each.status === 'rejected') throw each.reason;
  const request: RestoreRequest = {
    format: 1,
    work: place.cwd,
    home: place.home,
    parts,
    meta,
    remote: true,
    conversation_directories: [...conversationDirectories(harness)],
    unpacked_bytes_max: UNPACKED_BYTES_MAX,
  };
  const call = (): Promise<unknown> =>
    callTool(io, place, 'restore', request, { timeoutMs: TOOL_MS_MAX, signal });
  const report = await call().catch(async (error: unknown) => {
    // The base commit is large and nearly always in the clone: it is brought when it is not.
    if (!(error instanceof ToolRefusal) || error.code !== 'base_gone') throw error;
    const needed = new Set(meta.prerequisites);
    const bases = await store.bases(sessionId);
    const base = bases.find((each) => each.prerequisites.some((id) => needed.has(id)));
    if (!base) throw error;
    await put('base.pack', await store.open(base, 'base.pack'));
    return call();
  });
  await io.files.remove(refOf(place), parts);
  return readRestoreReport(report);
}
