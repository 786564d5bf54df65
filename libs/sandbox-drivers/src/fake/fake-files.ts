import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { HangarError } from '@hangar/contracts';
import type { FileStat } from '../sandbox-driver.ts';

interface FakeFile {
  bytes: Buffer;
  mode: number;
  mtimeMs: number;
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const checkPath = (path: string): void => {
  if (!path.startsWith('/')) throw new HangarError('invalid', `${path} is not an absolute path.`);
};

/** Files by path; a directory exists as long as something is in it. */
export class FakeFiles {
  private readonly files = new Map<string, FakeFile>();

  async put(
    path: string,
    body: Readable | Uint8Array,
    options: { mode?: number; signal?: AbortSignal } = {},
  ): Promise<{ size: number; sha256: string }> {
    checkPath(path);
    options.signal?.throwIfAborted();
    const bytes = body instanceof Readable ? await buffer(body) : Buffer.from(body);
    options.signal?.throwIfAborted();
    this.files.set(path, { bytes, mode: options.mode ?? 0o644, mtimeMs: Date.now() });
    return { size: bytes.length, sha256: hashOf(bytes) };
  }

  get(path: string, from = 0): { size: number; body: Readable; sha256: Promise<string> } | null {
    checkPath(path);
    const file = this.files.get(path);
    if (!file) return null;
    const rest = file.bytes.subarray(from);
    const body = Readable.from(rest.length > 0 ? [rest] : [], { objectMode: false });
    return { size: file.bytes.length, body, sha256: Promise.resolve(hashOf(rest)) };
  }

  stat(path: string): FileStat | null {
    checkPath(path);
    const file = this.files.get(path);
    if (file) {
      return { size: file.bytes.length, mode: file.mode, kind: 'file', mtimeMs: file.mtimeMs };
    }
    const isDirectory = [...this.files.keys()].some((each) => each.startsWith(`${path}/`));
    return isDirectory ? { size: 0, mode: 0o755, kind: 'directory', mtimeMs: 0 } : null;
  }

  remove(path: string): void {
    checkPath(path);
    for (const each of this.files.keys()) {
      if (each === path || each.startsWith(`${path}/`)) this.files.delete(each);
    }
  }
}
