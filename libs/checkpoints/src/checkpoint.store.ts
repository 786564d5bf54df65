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

/** Sealing, opening and the manifest of one prefix; what every kind of set of parts shares. */
class SealedParts {
  readonly blobs: BlobStore;
  readonly vault: Vault;

  constructor(blobs: BlobStore, vault: Vault) {
    this.blobs = blobs;
    this.vault = vault;
  }

  newKey(prefix: string): { dataKey: Buffer; data_key: string } {
    const dataKey = this.vault.newDataKey();
    return { dataKey, data_key: this.vault.wrap(dataKey, prefix + MANIFEST) };
  }

  async put(
    prefix: string,
    dataKey: Buffer,
    part: CheckpointPart,
    body: Readable,
    signal: AbortSignal,
  ): Promise<void> {
    const sealed = sealStream(dataKey, prefix + part.name);
    pipeline(body, verifying(part), sealed, (error) => {
      if (error) sealed.destroy(error);
    });
    await this.blobs.put(prefix + part.name, sealed, signal);
  }

  async open(prefix: string, manifest: Manifest, name: string): Promise<Readable> {
    const part = manifest.parts.find((p) => p.name === name);
    const blob = part && (await this.blobs.get(prefix + name));
    if (!blob) throw new HangarError('not_found', `the part ${name} is not in the store`);
    const dataKey = this.vault.unwrap(manifest.data_key, prefix + MANIFEST);
    const check = verifying(part);
    pipeline(blob.body, openStream(dataKey, prefix + name), check, (error) => {
      if (error) check.destroy(error);
    });
    return check;
  }

  async writeManifest(prefix: string, manifest: Manifest): Promise<void> {
    await this.blobs.put(prefix + MANIFEST, Buffer.from(JSON.stringify(manifest)));
  }

  async readManifest<M extends Manifest>(prefix: string): Promise<M | null> {
    const blob = await this.blobs.get(prefix + MANIFEST);
    if (!blob) return null;
    if (blob.size > MANIFEST_BYTES_MAX) {
      blob.body.destroy();
      throw damaged(prefix);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of blob.body) chunks.push(chunk as Buffer);
    try {
      return JSON.parse(Buffer.concat(chunks).toString('utf8')) as M;
    } catch {
      throw damaged(prefix);
    }
  }

  async *manifests(prefix: string): AsyncGenerator<{ prefix: string; manifest: Manifest }> {
    for await (const { key } of this.blobs.list(prefix)) {
      if (!key.endsWith(`/${MANIFEST}`)) continue;
      const found = key.slice(0, -MANIFEST.length);
      const manifest = await this.readManifest(found);
      if (manifest) yield { prefix: found, manifest };
    }
  }

  /** The manifest goes first: a deletion that is cut leaves no checkpoint that looks whole. */
  async remove(prefix: string): Promise<void> {
    await this.blobs.delete(prefix + MANIFEST);
    for await (const { key } of this.blobs.list(prefix)) await this.blobs.delete(key);
  }
}

/** Sealed parts under `sessions/<session>/<checkpoint>/`; see docs/formats/checkpoint.md. */
export function createCheckpointStore(blobs: BlobStore, vault: Vault): CheckpointStore {
  const parts = new SealedParts(blobs, vault);
  return {
    begin: (session_id, checkpoint_id) => {
      const prefix = checkpointPrefix(session_id, checkpoint_id);
      const { dataKey, data_key } = parts.newKey(prefix);
      return {
        put: (part, body, signal) => parts.put(prefix, dataKey, part, body, signal),
        commit: (stored) =>
          parts.writeManifest(prefix, {
            format: 1,
            checkpoint_id,
            session_id,
            data_key,
            parts: stored,
          }),
      };
    },
    manifest: (sessionId, checkpointId) =>
      parts.readManifest(checkpointPrefix(sessionId, checkpointId)),
    open: (manifest, name) => {
      const { session_id, checkpoint_id } = manifest;
      const prefix =
        name === BASE
          ? `${basePrefix(session_id)}${checkpoint_id}/`
          : checkpointPrefix(session_id, checkpoint_id);
      return parts.open(prefix, manifest, name);
    },
    putBase: async (session_id, checkpoint_id, part, prerequisites, body, signal) => {
      const prefix = `${basePrefix(session_id)}${checkpoint_id}/`;
      const { dataKey, data_key } = parts.newKey(prefix);
      await parts.put(prefix, dataKey, part, body, signal);
      const manifest: BaseManifest = {
        format: 1,
        checkpoint_id,
        session_id,
        data_key,
        parts: [part],
        prerequisites,
      };
      await parts.writeManifest(prefix, manifest);
    },
    bases: async (sessionId) => {
      const found: BaseManifest[] = [];
      for await (const { manifest } of parts.manifests(basePrefix(sessionId)))
        found.push(manifest as BaseManifest);
      return found;
    },
    delete: (sessionId, checkpointId) => parts.remove(checkpointPrefix(sessionId, checkpointId)),
    deleteSession: (sessionId) => parts.remove(`sessions/${sessionId}/`),
    rewrap: async () => {
      let changed = 0;
      for await (const { prefix, manifest } of parts.manifests('sessions/')) {
        const data_key = vault.rewrap(manifest.data_key, prefix + MANIFEST);
        if (data_key === manifest.data_key) continue;
        await parts.writeManifest(prefix, { ...manifest, data_key });
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
  new HangarError(
    'invalid',
    `the part ${part.name} is not what was announced: size or hash differ`,
  );
