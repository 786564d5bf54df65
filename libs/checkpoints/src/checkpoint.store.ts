import { createHash } from 'node:crypto';
import { Transform, pipeline, type Readable } from 'node:stream';
import { HangarError, type CheckpointPart } from '@hangar/contracts';
import type { BlobStore } from '@hangar/blob-stores';
import { openStream, sealStream, type Vault } from '@hangar/service-kit';

/** What lies beside the sealed parts; written last, so without it there is no checkpoint [C3]. */
export interface Manifest {
  format: 1;
  checkpoint_id: string;
  session_id: string;
  /** The checkpoint's data key, wrapped by the vault key [C4]. */
  data_key: string;
  parts: CheckpointPart[];
}

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
  bases(sessionId: string): Promise<BaseManifest[]>;
  delete(sessionId: string, checkpointId: string): Promise<void>;
  deleteSession(sessionId: string): Promise<void>;
  /** After a rotation: wraps data keys under the newest vault key, and says how many. */
  rewrap(): Promise<number>;
}

const MANIFEST = 'manifest.json';
const MANIFEST_BYTES_MAX = 1024 * 1024;
const BASE = 'base.pack';

const checkpointPrefix = (sessionId: string, checkpointId: string): string =>
  `sessions/${sessionId}/${checkpointId}/`;
const basePrefix = (sessionId: string): string => `sessions/${sessionId}/base/`;

/** Sealed parts under `sessions/<session>/<checkpoint>/`; see docs/formats/checkpoint.md. */
export function createCheckpointStore(blobs: BlobStore, vault: Vault): CheckpointStore {
  const aad = (prefix: string, name: string): string => `${prefix}${name}`;

  const putPart = async (
    prefix: string,
    dataKey: Buffer,
    part: CheckpointPart,
    body: Readable,
    signal: AbortSignal,
  ): Promise<void> => {
    const check = verifying(part);
    const sealed = sealStream(dataKey, aad(prefix, part.name));
    pipeline(body, check, sealed, (error) => {
      if (error) sealed.destroy(error);
    });
    await blobs.put(prefix + part.name, sealed, signal);
  };

  const writeManifest = async (prefix: string, manifest: Manifest): Promise<void> => {
    await blobs.put(prefix + MANIFEST, Buffer.from(JSON.stringify(manifest)));
  };

  const readManifest = async <M extends Manifest>(prefix: string): Promise<M | null> => {
    const blob = await blobs.get(prefix + MANIFEST);
    if (!blob) return null;
    if (blob.size > MANIFEST_BYTES_MAX) throw damaged(prefix);
    const chunks: Buffer[] = [];
    for await (const chunk of blob.body) chunks.push(chunk as Buffer);
    try {
      return JSON.parse(Buffer.concat(chunks).toString('utf8')) as M;
    } catch {
      throw damaged(prefix);
    }
  };

  const removeAll = async (prefix: string): Promise<void> => {
    // The manifest goes first: a deletion that is cut leaves no checkpoint that looks whole.
    await blobs.delete(prefix + MANIFEST);
    for await (const { key } of blobs.list(prefix)) await blobs.delete(key);
  };

  return {
    begin: (sessionId, checkpointId) => {
      const prefix = checkpointPrefix(sessionId, checkpointId);
      const dataKey = vault.newDataKey();
      const data_key = vault.wrap(dataKey, aad(prefix, MANIFEST));
      return {
        put: (part, body, signal) => putPart(prefix, dataKey, part, body, signal),
        commit: (parts) =>
          writeManifest(prefix, {
            format: 1,
            checkpoint_id: checkpointId,
            session_id: sessionId,
            data_key,
            parts,
          }),
      };
    },
    manifest: (sessionId, checkpointId) => readManifest(checkpointPrefix(sessionId, checkpointId)),
    open: async (manifest, name) => {
      const part = manifest.parts.find((p) => p.name === name);
      const isBase = name === BASE;
      const prefix = isBase
        ? `${basePrefix(manifest.session_id)}${manifest.checkpoint_id}/`
        : checkpointPrefix(manifest.session_id, manifest.checkpoint_id);
      const blob = part && (await blobs.get(prefix + name));
      if (!blob) throw new HangarError('not_found', `the part ${name} is not in the store`);
      const dataKey = vault.unwrap(manifest.data_key, aad(prefix, MANIFEST));
      const plain = openStream(dataKey, aad(prefix, name));
      const check = verifying(part);
      pipeline(blob.body, plain, check, (error) => {
        if (error) check.destroy(error);
      });
      return check;
    },
    putBase: async (sessionId, checkpointId, part, prerequisites, body, signal) => {
      const prefix = `${basePrefix(sessionId)}${checkpointId}/`;
      const dataKey = vault.newDataKey();
      await putPart(prefix, dataKey, part, body, signal);
      const manifest: BaseManifest = {
        format: 1,
        checkpoint_id: checkpointId,
        session_id: sessionId,
        data_key: vault.wrap(dataKey, aad(prefix, MANIFEST)),
        parts: [part],
        prerequisites,
      };
      await writeManifest(prefix, manifest);
    },
    bases: async (sessionId) => {
      const found: BaseManifest[] = [];
      for await (const { key } of blobs.list(basePrefix(sessionId))) {
        if (!key.endsWith(MANIFEST)) continue;
        const manifest = await readManifest<BaseManifest>(key.slice(0, -MANIFEST.length));
        if (manifest) found.push(manifest);
      }
      return found;
    },
    delete: (sessionId, checkpointId) => removeAll(checkpointPrefix(sessionId, checkpointId)),
    deleteSession: (sessionId) => removeAll(`sessions/${sessionId}/`),
    rewrap: async () => {
      let changed = 0;
      for await (const { key } of blobs.list('sessions/')) {
        if (!key.endsWith(`/${MANIFEST}`)) continue;
        const prefix = key.slice(0, -MANIFEST.length);
        const manifest = await readManifest(prefix);
        if (!manifest) continue;
        const data_key = vault.rewrap(manifest.data_key, aad(prefix, MANIFEST));
        if (data_key === manifest.data_key) continue;
        await writeManifest(prefix, { ...manifest, data_key });
        changed += 1;
      }
      return changed;
    },
  };
}

const damaged = (prefix: string): HangarError =>
  new HangarError('invalid', `the manifest of ${prefix} is damaged`);

/** Passes bytes on and ends with an error unless they are exactly the part that was announced. */
function verifying(part: CheckpointPart): Transform {
  const hash = createHash('sha256');
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      hash.update(chunk);
      if (size > part.size) done(different(part));
      else done(null, chunk);
    },
    flush(done) {
      const same = size === part.size && hash.digest('hex') === part.sha256;
      done(same ? null : different(part));
    },
  });
}

const different = (part: CheckpointPart): HangarError =>
  new HangarError('invalid', `the part ${part.name} is not what was announced: size or hash differ`);
