import type { Readable } from 'node:stream';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { HangarError, type SandboxPlace } from '@hangar/contracts';
import type { SandboxIo } from '@hangar/sandbox-drivers';
import type { CheckpointStore } from './checkpoint.store.ts';
import { readMeta } from './part-check.ts';
import { SandboxGone, ToolRefusal, callTool } from './sandbox-tool.ts';
import { readChangesReport, shown } from './tool-reports.ts';
import type { ChangesReport } from './tool/contract.ts';

export interface ReadChanges {
  session_id: string;
  place: SandboxPlace | null;
  checkpoint_id: string | null;
  base_branch: string | null;
}

export type ChangesAnswer = ChangesReport & { source: 'sandbox' | 'checkpoint'; taken_at: string };

const CHANGES_MS_MAX = 60_000;
/** The capture writes at most 5 MiB; what is larger was not written by it. */
const REPORT_BYTES_MAX = 8 * 1024 * 1024;
const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** The bus carries one message of this size at most; the rest of the files is left out. */
const ANSWER_BYTES_MAX = 900 * 1024;

/** The work against the base: from the sandbox where there is one, else from the checkpoint. */
export async function readChanges(
  options: { io: SandboxIo; store: CheckpointStore; now(): Date },
  asked: ReadChanges,
): Promise<ChangesAnswer> {
  const { io, store, now } = options;
  if (asked.place) {
    const report = await fromSandbox(io, asked.place, asked.base_branch);
    return fit({ ...report, source: 'sandbox', taken_at: now().toISOString() });
  }
  if (!asked.checkpoint_id)
    throw new HangarError('not_found', 'the session has no sandbox and no checkpoint yet', {
      hint: 'send it a message first',
    });
  const manifest = await store.manifest(asked.session_id, asked.checkpoint_id);
  if (!manifest) throw new HangarError('not_found', `${asked.checkpoint_id} is not in the store`);
  const report = await readReport(await store.open(manifest, 'changes.json'));
  const { created_at } = await readMeta(await store.open(manifest, 'meta.json'));
  return fit({ ...report, source: 'checkpoint', taken_at: created_at });
}

async function fromSandbox(
  io: SandboxIo,
  place: SandboxPlace,
  baseBranch: string | null,
): Promise<ChangesReport> {
  const request = {
    format: 1,
    work: place.cwd,
    home: place.home,
    ...(baseBranch ? { base_branch: baseBranch } : {}),
  };
  const bound = { timeoutMs: CHANGES_MS_MAX, signal: AbortSignal.timeout(CHANGES_MS_MAX) };
  try {
    return readChangesReport(await callTool(io, place, 'changes', request, bound));
  } catch (error) {
    if (error instanceof SandboxGone)
      throw new HangarError('conflict', 'the sandbox went away; nothing can be read in it', {
        hint: 'name a checkpoint, or open the session again',
      });
    if (error instanceof ToolRefusal)
      throw new HangarError('invalid', `the changes cannot be read: ${shown(error.message)}`, {
        hint: 'look with git in the sandbox; the checkpoints are not touched by this',
      });
    throw error;
  }
}

/**
 * changes.json in the codec that its first bytes tell (docs/formats/checkpoint.md). It was written
 * in a sandbox: neither its size nor what it unpacks to is trusted.
 */
export async function readReport(body: Readable): Promise<ChangesReport> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > REPORT_BYTES_MAX) throw unreadable('it is too large');
    chunks.push(chunk);
  }
  try {
    return readChangesReport(JSON.parse(unpacked(Buffer.concat(chunks)).toString('utf8')));
  } catch (cause) {
    throw unreadable(cause instanceof Error ? cause.message : String(cause));
  }
}

function unpacked(bytes: Buffer): Buffer {
  const bound = { maxOutputLength: REPORT_BYTES_MAX };
  if (bytes.subarray(0, 2).equals(GZIP)) return gunzipSync(bytes, bound);
  return bytes.subarray(0, 4).equals(ZSTD) ? zstdDecompressSync(bytes, bound) : bytes;
}

const unreadable = (why: string): HangarError =>
  new HangarError('invalid', `the changes in this checkpoint cannot be read: ${why}`, {
    hint: 'the work itself is in other parts: open the session, or export the checkpoint',
  });

/** Diffs go first, the largest before the others; then files, the last before the others. */
function fit(answer: ChangesAnswer): ChangesAnswer {
  let size = Buffer.byteLength(JSON.stringify(answer));
  if (size <= ANSWER_BYTES_MAX) return answer;
  const files = answer.files.map((file) => ({ ...file }));
  const largestFirst = files.toSorted((a, b) => (b.diff?.length ?? 0) - (a.diff?.length ?? 0));
  for (const file of largestFirst) {
    if (size <= ANSWER_BYTES_MAX) break;
    size -= Buffer.byteLength(JSON.stringify(file.diff ?? ''));
    file.diff = null;
  }
  while (size > ANSWER_BYTES_MAX && files.length > 0)
    size -= Buffer.byteLength(JSON.stringify(files.pop()));
  return { ...answer, files, truncated: true };
}
