import { chmodSync, createReadStream, existsSync, lstatSync, rmSync } from 'node:fs';
import { checkTarFile, unpackStream, type TarPartName } from '../archive/part-rules.ts';
import type { TarEntry } from '../archive/tar-headers.ts';
import { joinPath, parentOf, toFs, toText } from './byte-path.ts';
import { runProcess } from './run-process.ts';
import { cleanEnvironment } from './shadow.ts';
import { ToolError } from './tool-error.ts';

export const hasPart = (parts: string, name: string): boolean =>
  existsSync(toFs(joinPath(parts, name)));

/** No ACLs, no foreign owners, user attributes only; directories get their modes at the end. */
const TAR = [
  '--extract',
  '--no-same-owner',
  '--preserve-permissions',
  '--delay-directory-restore',
  '--xattrs',
  '--xattrs-include=user.*',
  '--warning=no-timestamp',
  '--warning=no-unknown-keyword',
];
const SET_ID = 0o6000;
const UNLIMITED = { unpackedBytesMax: Number.MAX_SAFE_INTEGER / 128 };

export interface ExtractOptions {
  /** Directories that may be links in the fresh environment (HOME's own layout). */
  trustedPrefixes?: readonly string[];
}

/** The entries of a checked part. */
export async function listEntries(parts: string, part: TarPartName): Promise<TarEntry[]> {
  const entries: TarEntry[] = [];
  const rules = { ...UNLIMITED, gitAllowed: part === 'nested' };
  await checkTarFile(toFs(joinPath(parts, part)), rules, (entry) => entries.push(entry));
  return entries;
}

/** Unpacks a checked part below `root`; what is in the way there goes first. */
export async function extractPart(
  parts: string,
  part: TarPartName,
  root: string,
  options: ExtractOptions,
): Promise<TarEntry[]> {
  const entries = await listEntries(parts, part);
  clearTheWay(root, entries, options.trustedPrefixes ?? []);
  const source = createReadStream(toFs(joinPath(parts, part)));
  const result = await runProcess('tar', [...TAR, '-f', '-', '-C', toText(root)], {
    env: cleanEnvironment(),
    cwd: '/',
    input: toBuffers(unpackStream(source)),
  });
  if (result.status !== 0) {
    const line = result.message.split('\n')[0] ?? '';
    throw new ToolError('corrupt', `${part} cannot be unpacked: ${line}`);
  }
  dropSetId(root, entries);
  return entries;
}

async function* toBuffers(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of source) yield Buffer.from(chunk);
}

/**
 * Removes what is of another type than the archive has there, links above all: tar then neither
 * fails on a directory in its way nor writes through a link that an earlier restore left.
 */
function clearTheWay(root: string, entries: readonly TarEntry[], trusted: readonly string[]): void {
  const cleared = new Set<string>();
  const makeDirectory = (path: string): void => {
    if (path === '' || cleared.has(path)) return;
    makeDirectory(parentOf(path));
    cleared.add(path);
    const inTrust = trusted.some((prefix) => prefix === path || prefix.startsWith(`${path}/`));
    if (inTrust) return;
    const full = toFs(joinPath(root, path));
    const stat = lstatSync(full, { throwIfNoEntry: false });
    if (!stat) return;
    if (!stat.isDirectory()) rmSync(full, { force: true });
    else if ((stat.mode & 0o700) !== 0o700) chmodSync(full, (stat.mode & 0o7777) | 0o700);
  };
  for (const entry of entries) {
    if (entry.kind === 'directory') {
      makeDirectory(entry.path);
      continue;
    }
    makeDirectory(parentOf(entry.path));
    const full = toFs(joinPath(root, entry.path));
    const stat = lstatSync(full, { throwIfNoEntry: false });
    if (stat) rmSync(full, { recursive: true, force: true });
  }
}

/** A set-id file of the session's user must not become one of root (R4). */
function dropSetId(root: string, entries: readonly TarEntry[]): void {
  if (process.getuid?.() !== 0) return;
  for (const entry of entries) {
    if (entry.kind !== 'file' || (entry.mode & SET_ID) === 0) continue;
    chmodSync(toFs(joinPath(root, entry.path)), entry.mode & ~SET_ID);
  }
}
