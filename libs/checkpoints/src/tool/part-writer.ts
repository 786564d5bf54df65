import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  createWriteStream,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { Transform, type TransformCallback, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { joinPath, toFs, toText } from './byte-path.ts';
import type { PartCodec, PartEntry, PartName } from './contract.ts';

/** gzip's own fast end: three times faster than its default, a few percent larger. */
const GZIP_LEVEL = 4;
const ZSTD_LEVEL = 3;
/** Handled at once: the way to another thread and back would take longer. */
const SMALL_BYTES_MAX = 64 * 1024;

export const hasZstd = (): boolean => typeof zlib.createZstdCompress === 'function';

/** Counts and hashes what passes. */
class Meter extends Transform {
  readonly hash = createHash('sha256');
  bytes = 0;

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    done(null, chunk);
  }
}

/** Writes the parts of one checkpoint into a directory and remembers what they are. */
export class PartWriter {
  readonly parts: PartEntry[] = [];
  readonly directory: string;
  readonly zstd: boolean;

  constructor(directory: string, zstd: boolean) {
    this.directory = directory;
    this.zstd = zstd && hasZstd();
  }

  path(name: string): string {
    return joinPath(this.directory, name);
  }

  /** zstd where it is allowed and there; the documented five always use gzip. */
  get extraCodec(): PartCodec {
    return this.zstd ? 'zstd' : 'gzip';
  }

  /** Streams to put behind a producer; `close` makes the part's entry. */
  open(name: PartName, codec: PartCodec): { streams: Writable[]; close: () => PartEntry } {
    const meter = new Meter();
    const file = createWriteStream(toFs(this.path(name)));
    const streams: Writable[] = [...compressor(codec), meter, file];
    const close = (): PartEntry =>
      this.#add({ name, size: meter.bytes, sha256: meter.hash.digest('hex'), codec });
    return { streams, close };
  }

  async write(name: PartName, content: Buffer, codec: PartCodec): Promise<PartEntry> {
    const stored = await compressWhole(content, codec);
    writeFileSync(toFs(this.path(name)), stored);
    const sha256 = createHash('sha256').update(stored).digest('hex');
    return this.#add({ name, size: stored.length, sha256, codec });
  }

  /** Takes over a file that a process has written under the part's name. */
  async adopt(name: PartName): Promise<PartEntry> {
    const hash = createHash('sha256');
    const path = toFs(this.path(name));
    const { size } = statSync(path);
    if (size <= SMALL_BYTES_MAX) hash.update(readFileSync(path));
    else await pipeline(createReadStream(path), hash);
    return this.#add({ name, size, sha256: hash.digest('hex'), codec: 'none' });
  }

  drop(name: PartName): void {
    rmSync(toFs(this.path(name)), { force: true });
    const at = this.parts.findIndex((part) => part.name === name);
    if (at >= 0) this.parts.splice(at, 1);
  }

  /** Removes everything of a cut or repeated capture. */
  clear(): void {
    for (const { name } of this.parts.splice(0)) this.drop(name);
    rmSync(toFs(this.path('meta.json')), { force: true });
  }

  /** The last act of a capture: on disk before it has its name. */
  writeMeta(content: Buffer): PartEntry {
    const temporary = toFs(this.path('meta.json.new'));
    const file = openSync(temporary, 'w', 0o600);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, toFs(this.path('meta.json')));
    const sha256 = createHash('sha256').update(content).digest('hex');
    return this.#add({ name: 'meta.json', size: content.length, sha256, codec: 'none' });
  }

  textPath(name: string): string {
    return toText(this.path(name));
  }

  #add(entry: PartEntry): PartEntry {
    const at = this.parts.findIndex((part) => part.name === entry.name);
    if (at >= 0) this.parts.splice(at, 1);
    this.parts.push(entry);
    return entry;
  }
}

function compressor(codec: PartCodec): Transform[] {
  if (codec === 'gzip') return [zlib.createGzip({ level: GZIP_LEVEL })];
  if (codec === 'zstd') return [zlib.createZstdCompress({ params: zstdParams() })];
  return [];
}

const zstdParams = (): Record<number, number> => ({
  [zlib.constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
});

/** In one piece; where that is worth it in another thread, with nothing left to do here meanwhile. */
async function compressWhole(content: Buffer, codec: PartCodec): Promise<Buffer> {
  const isSmall = content.length <= SMALL_BYTES_MAX;
  if (codec === 'gzip') {
    const options = { level: GZIP_LEVEL };
    return isSmall ? zlib.gzipSync(content, options) : promisify(zlib.gzip)(content, options);
  }
  if (codec === 'zstd') {
    const options = { params: zstdParams() };
    return isSmall
      ? zlib.zstdCompressSync(content, options)
      : promisify(zlib.zstdCompress)(content, options);
  }
  return content;
}
