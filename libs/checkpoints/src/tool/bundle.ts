import { closeSync, openSync, readSync, statSync, writeFileSync } from 'node:fs';
import { toFs } from './byte-path.ts';
import type { WarningEntry } from './contract.ts';
import type { PartWriter } from './part-writer.ts';
import type { Roots } from './roots.ts';
import { publishRoots } from './roots.ts';
import { ToolError } from './tool-error.ts';
import type { Shadow } from './shadow.ts';

/** The text in front of a bundle's pack: prerequisites and refs, one line each. */
const HEADER_BYTES_MAX = 16 * 1024 * 1024;
const SMALL_BYTES_MAX = 256 * 1024;
const SHA256_VERSION = ['# v3 git bundle', '@object-format=sha256'];

/** Writes repo.bundle (R1). Returns its size and what it needs to be there already. */
export async function writeBundle(
  shadow: Shadow,
  roots: Roots,
  writer: PartWriter,
): Promise<{ size: number; prerequisites: string[] }> {
  publishRoots(shadow, roots);
  const lines = [...roots.refs.map((ref) => ref.name), ...roots.excluded.map((id) => `^${id}`)];
  const path = writer.path('repo.bundle');
  const args = ['bundle', 'create', '-q', writer.textPath('repo.bundle'), '--stdin'];
  const result = await shadow.git(args, { input: `${lines.join('\n')}\n` });
  if (result.status !== 0) {
    const line = result.message.split('\n').find((text) => !text.includes('is excluded by'));
    throw new ToolError('corrupt', `git cannot pack the repository's objects: ${line ?? ''}`);
  }
  return { size: statSync(toFs(path)).size, prerequisites: prerequisitesOf(path) };
}

/**
 * The same without git, where nothing is new but what this capture has made: `parent` is a commit that
 * the remote has and that holds all else. Null when there is more to it, or when deltas against the
 * parent would be worth their time.
 */
export function writeSmallBundle(
  shadow: Shadow,
  roots: Roots,
  parent: string | null,
  writer: PartWriter,
): { size: number } | null {
  if (parent === null || !roots.excluded.includes(parent)) return null;
  const added = roots.refs.filter((ref) => !roots.excluded.includes(ref.id));
  if (!added.every((ref) => shadow.objects.has(ref.id))) return null;
  const pack = shadow.objects.whole(SMALL_BYTES_MAX);
  if (pack === null) return null;
  const version = shadow.format === 'sha1' ? ['# v2 git bundle'] : SHA256_VERSION;
  const lines = [...version, `-${parent} `, ...added.map((ref) => `${ref.id} ${ref.name}`), '', ''];
  const bundle = Buffer.concat([Buffer.from(lines.join('\n'), 'latin1'), pack]);
  writeFileSync(toFs(writer.path('repo.bundle')), bundle);
  return { size: bundle.length };
}

/** The `-<id>` lines of a bundle's header. */
export function prerequisitesOf(path: string): string[] {
  const head = readBundleHeader(path);
  return head.split('\n').flatMap((line) => /^-([0-9a-f]+)/.exec(line)?.[1] ?? []);
}

/** Where the pack begins, behind the header's empty line. */
export const packOffset = (path: string): number => readBundleHeader(path).length + 1;

function readBundleHeader(path: string): string {
  const file = openSync(toFs(path), 'r');
  try {
    let bytes = Math.min(64 * 1024, HEADER_BYTES_MAX);
    for (;;) {
      const buffer = Buffer.alloc(bytes);
      const read = readSync(file, buffer, 0, bytes, 0);
      const end = buffer.indexOf('\n\n');
      if (end >= 0) return buffer.toString('latin1', 0, end + 1);
      if (read < bytes || bytes >= HEADER_BYTES_MAX) {
        throw new ToolError('corrupt', 'repo.bundle has no header');
      }
      bytes *= 4;
    }
  } finally {
    closeSync(file);
  }
}

/**
 * The trees of the prerequisites without their history: insurance against a remote that drops them
 * (R8). Large, so only once for the same prerequisites.
 */
export async function writeBasePack(
  shadow: Shadow,
  prerequisites: readonly string[],
  writer: PartWriter,
  warnings: WarningEntry[],
): Promise<void> {
  const listed = await shadow.git(['rev-list', '--objects', '--no-walk', '--stdin'], {
    input: `${prerequisites.join('\n')}\n`,
  });
  const part = writer.open('base.pack', 'none');
  const ids = listed.stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '');
  const packed = await shadow.git(['pack-objects', '-q', '--stdout'], {
    input: ids.map((line) => `${line.split(' ')[0]}\n`).join(''),
    output: part.streams,
  });
  part.close();
  if (listed.status === 0 && packed.status === 0) return;
  writer.drop('base.pack');
  const line = (listed.message || packed.message).split('\n')[0] ?? '';
  warnings.push({
    reason: `no copy of the base commit was made, so the remote must keep it: ${line}`,
  });
}
