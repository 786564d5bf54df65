import { createHash, randomBytes } from 'node:crypto';
import { Transform, pipeline, type Readable } from 'node:stream';
import { z } from 'zod';
import { HangarError, type CheckpointPart } from '@hangar/contracts';
import type { BlobStore } from '@hangar/blob-stores';
import { openStream, sealStream, type Vault } from '@hangar/service-kit';

/** What lies beside the sealed parts; written last, so without it there is no checkpoint [C3]. */
export interface Manifest {
  format: 1;
  checkpoint_id: string;
  session_id: string;
  /**
   * The directory beside the manifest that holds the parts. Each try has one of its own: what a
   * late one writes never lies among the parts of another [M5].
   */
  set: string;
  /** The checkpoint's data key, wrapped by the vault key [C4]. */
  data_key: string;
  parts: CheckpointPart[];
  /** Of a pack of base commits alone: the commits that it brings. */
  prerequisites?: string[] | undefined;
}

export const MANIFEST = 'manifest.json';
const MANIFEST_BYTES_MAX = 1024 * 1024;
const SET_BYTES = 8;
const PARTS_MAX = 16;

/** The store may be somebody else's computer: a manifest is data until its parts have opened. */
const manifestSchema = z.object({
  format: z.literal(1),
  checkpoint_id: z.string(),
  session_id: z.string(),
  set: z.string().regex(/^[0-9a-f]{16}$/),
  data_key: z.string().max(1024),
  parts: z
    .array(
      z.object({
        name: z.string().regex(/^[a-z][a-z.]{0,40}$/),
        size: z.int().nonnegative(),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .max(PARTS_MAX),
  prerequisites: z.array(z.string()).optional(),
});

/** Where a manifest belongs; one that was moved elsewhere is not what it says it is. */
export const placeOf = (manifest: Pick<Manifest, 'session_id' | 'checkpoint_id'>): string =>
  `sessions/${manifest.session_id}/${manifest.checkpoint_id}/`;
export const basesOf = (sessionId: string): string => `sessions/${sessionId}/base/`;
export const basePlaceOf = (manifest: Pick<Manifest, 'session_id' | 'checkpoint_id'>): string =>
  `${basesOf(manifest.session_id)}${manifest.checkpoint_id}/`;

/** A set of parts that is being written. */
export interface NewSet {
  prefix: string;
  set: string;
  dataKey: Buffer;
  data_key: string;
}

/** Sealing, opening and the manifest of one prefix; what every kind of set of parts shares. */
export class SealedParts {
  readonly blobs: BlobStore;
  readonly vault: Vault;

  constructor(blobs: BlobStore, vault: Vault) {
    this.blobs = blobs;
    this.vault = vault;
  }

  begin(prefix: string): NewSet {
    const dataKey = this.vault.newDataKey();
    const data_key = this.vault.wrap(dataKey, prefix + MANIFEST);
    return { prefix, set: randomBytes(SET_BYTES).toString('hex'), dataKey, data_key };
  }

  async put(
    { prefix, set, dataKey }: NewSet,
    part: CheckpointPart,
    body: Readable,
    signal: AbortSignal,
  ): Promise<void> {
    const key = `${prefix}${set}/${part.name}`;
    const sealed = sealStream(dataKey, key);
    pipeline(body, verifying(part), sealed, (error) => {
      if (error) sealed.destroy(error);
    });
    await this.blobs.put(key, sealed, signal);
  }

  async open(prefix: string, manifest: Manifest, name: string): Promise<Readable> {
    const part = manifest.parts.find((p) => p.name === name);
    const key = `${prefix}${manifest.set}/${name}`;
    const blob = part && (await this.blobs.get(key));
    if (!blob) throw new HangarError('not_found', `the part ${name} is not in the store`);
    const check = verifying(part);
    try {
      const dataKey = this.vault.unwrap(manifest.data_key, prefix + MANIFEST);
      pipeline(blob.body, openStream(dataKey, key), check, (error) => {
        if (error) check.destroy(error);
      });
    } catch (error) {
      blob.body.destroy();
      throw error;
    }
    return check;
  }

  async writeManifest(prefix: string, manifest: Manifest): Promise<void> {
    await this.blobs.put(prefix + MANIFEST, Buffer.from(JSON.stringify(manifest)));
  }

  /** null: there is none. Throws `invalid` for one that is damaged or belongs elsewhere. */
  async readManifest(prefix: string): Promise<Manifest | null> {
    const blob = await this.blobs.get(prefix + MANIFEST);
    if (!blob) return null;
    if (blob.size > MANIFEST_BYTES_MAX) {
      blob.body.destroy();
      throw damaged(prefix);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of blob.body) chunks.push(chunk as Buffer);
    const manifest = parsed(prefix, Buffer.concat(chunks).toString('utf8'));
    const place = manifest.prerequisites ? basePlaceOf(manifest) : placeOf(manifest);
    if (place !== prefix) throw damaged(prefix);
    return manifest;
  }

  async hasSet(prefix: string, { set }: Manifest): Promise<boolean> {
    for await (const { key } of this.blobs.list(`${prefix}${set}/`)) return key !== '';
    return false;
  }

  /** Where a manifest lies below a prefix. */
  async *places(prefix: string): AsyncGenerator<string> {
    for await (const { key } of this.blobs.list(prefix))
      if (key.endsWith(`/${MANIFEST}`)) yield key.slice(0, -MANIFEST.length);
  }

  /** Manifests go first: a deletion that is cut leaves no checkpoint that looks whole. */
  async remove(prefix: string): Promise<void> {
    for await (const place of this.places(prefix)) await this.blobs.delete(place + MANIFEST);
    for await (const { key } of this.blobs.list(prefix)) await this.blobs.delete(key);
  }
}

function parsed(prefix: string, text: string): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw damaged(prefix);
  }
  const result = manifestSchema.safeParse(json);
  if (!result.success) throw damaged(prefix);
  return result.data;
}

const damaged = (prefix: string): HangarError =>
  new HangarError('invalid', `the manifest of ${prefix} is damaged, or belongs elsewhere`);

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
