import type { Readable } from 'node:stream';
import { HangarError, type CheckpointPart } from '@hangar/contracts';
import type { BlobStore } from '@hangar/blob-stores';
import type { Vault } from '@hangar/service-kit';
import {
  MANIFEST,
  SealedParts,
  basePlaceOf,
  basesOf,
  placeOf,
  type Manifest,
} from './sealed-parts.ts';

export type { Manifest } from './sealed-parts.ts';

/** A pack of base commits, once per session; checkpoints of the session lean on it. */
export interface BaseManifest extends Manifest {
  prerequisites: string[];
}

export interface PartSink {
  /** Stores one part; refuses it when size or hash are not what was announced. */
  put(part: CheckpointPart, body: Readable, signal: AbortSignal): Promise<void>;
  commit(parts: CheckpointPart[]): Promise<void>;
}

export interface CheckpointStore {
  begin(sessionId: string, checkpointId: string): PartSink;
  manifest(sessionId: string, checkpointId: string): Promise<Manifest | null>;
  /** Plain bytes; an error in the middle means that what came before must not be used. */
  open(manifest: Manifest, name: string): Promise<Readable>;
  putBase(
    sessionId: string,
    checkpointId: string,
    part: CheckpointPart,
    prerequisites: string[],
    body: Readable,
    signal: AbortSignal,
  ): Promise<void>;
  /** Those that can be read: one that is damaged is as good as none, and is packed anew. */
  bases(sessionId: string): Promise<BaseManifest[]>;
  delete(sessionId: string, checkpointId: string): Promise<void>;
  deleteSession(sessionId: string): Promise<void>;
  /**
   * After a rotation: wraps data keys under the newest vault key, and says how many. One that
   * does not open stops none of the others; the first of them is thrown at the end.
   */
  rewrap(): Promise<number>;
}

const BASE = 'base.pack';

/** Sealed parts under `sessions/<session>/<checkpoint>/`; see docs/formats/checkpoint.md. */
export function createCheckpointStore(blobs: BlobStore, vault: Vault): CheckpointStore {
  const parts = new SealedParts(blobs, vault);
  return {
    begin: (session_id, checkpoint_id) => {
      const prefix = placeOf({ session_id, checkpoint_id });
      const made = parts.begin(prefix);
      const { set, data_key } = made;
      return {
        put: (part, body, signal) => parts.put(made, part, body, signal),
        commit: (stored) =>
          parts.writeManifest(prefix, {
            format: 1,
            checkpoint_id,
            session_id,
            set,
            data_key,
            parts: stored,
          }),
      };
    },
    manifest: (session_id, checkpoint_id) =>
      parts.readManifest(placeOf({ session_id, checkpoint_id })),
    open: (manifest, name) =>
      parts.open(name === BASE ? basePlaceOf(manifest) : placeOf(manifest), manifest, name),
    putBase: async (session_id, checkpoint_id, part, prerequisites, body, signal) => {
      const prefix = basePlaceOf({ session_id, checkpoint_id });
      const made = parts.begin(prefix);
      const { set, data_key } = made;
      await parts.put(made, part, body, signal);
      const about = { format: 1 as const, checkpoint_id, session_id, set, data_key };
      await parts.writeManifest(prefix, { ...about, parts: [part], prerequisites });
    },
    bases: async (sessionId) => {
      const found: BaseManifest[] = [];
      for await (const place of parts.places(basesOf(sessionId))) {
        const manifest = await parts.readManifest(place).catch(noneIfDamaged);
        if (manifest?.prerequisites)
          found.push({ ...manifest, prerequisites: manifest.prerequisites });
      }
      return found;
    },
    delete: (session_id, checkpoint_id) => parts.remove(placeOf({ session_id, checkpoint_id })),
    deleteSession: (sessionId) => parts.remove(`sessions/${sessionId}/`),
    rewrap: () => rewrap(parts),
  };
}

function noneIfDamaged(error: unknown): null {
  if (error instanceof HangarError && error.code === 'invalid') return null;
  throw error;
}

async function rewrap(parts: SealedParts): Promise<number> {
  let changed = 0;
  const failures: unknown[] = [];
  for await (const place of parts.places('sessions/')) {
    try {
      const manifest = await parts.readManifest(place);
      if (!manifest) continue;
      const data_key = parts.vault.rewrap(manifest.data_key, place + MANIFEST);
      if (data_key === manifest.data_key) continue;
      await parts.writeManifest(place, { ...manifest, data_key });
      changed += 1;
      // Deleted meanwhile: without its parts the manifest would be a checkpoint of nothing.
      if (!(await parts.hasSet(place, manifest))) await parts.remove(place);
    } catch (error) {
      if (!(error instanceof HangarError) || error.code !== 'invalid') throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return changed;
}
