import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { ArchiveRefused } from '../archive/archive-refused.ts';
import { readBundleHeader } from '../archive/bundle-header.ts';
import { checkTarFile, rulesOf } from '../archive/part-rules.ts';
import { isObjectId, isRefName } from '../archive/ref-names.ts';
import { fromText, joinPath, toFs } from './byte-path.ts';
import type { RestoreMeta, RestoreRequest } from './contract.ts';
import { hasPart } from './extract.ts';
import { ToolError } from './tool-error.ts';

const refuse = (message: string): never => {
  throw new ToolError('refused', message);
};

/** Ids by shape, refs by git's rules, before any of them reaches a command line or a path. */
export function checkMeta(meta: RestoreMeta): void {
  const ids = [meta.head, meta.worktree_tree, meta.index_tree, ...(meta.prerequisites ?? [])];
  for (const id of ids) {
    if (id === null || id === undefined) continue;
    if (typeof id !== 'string' || !isObjectId(id)) refuse('meta.json holds a bad object id');
  }
  const { head_ref: ref, branch } = meta;
  if (ref !== null && ref !== undefined && !isRefName(ref)) refuse('meta.json: bad head_ref');
  if (branch === null || branch === undefined) return;
  const name = branch.startsWith('refs/') ? branch : `refs/heads/${branch}`;
  if (branch.startsWith('-') || !isRefName(fromText(name))) refuse('meta.json: bad branch name');
}

/** Hashes and headers of every part, read again where they will be used. */
export async function checkParts(request: RestoreRequest, unpackedBytesMax: number): Promise<void> {
  const parts = fromText(request.parts);
  const conversationDirectories = request.conversation_directories.map(fromText);
  for (const part of request.meta.parts ?? []) {
    if (!/^[a-z.]+$/.test(part.name)) refuse('meta.json names a part that cannot be');
    if (!hasPart(parts, part.name)) {
      if (part.name === 'base.pack' || part.name === 'changes.json') continue;
      throw new ToolError('corrupt', `the part ${part.name} is missing`);
    }
    const hash = createHash('sha256');
    await pipeline(createReadStream(toFs(joinPath(parts, part.name))), hash);
    if (hash.digest('hex') !== part.sha256) {
      throw new ToolError('corrupt', `the part ${part.name} does not have the recorded hash`);
    }
  }
  try {
    for (const part of ['untracked.tgz', 'agent.tgz', 'nested', 'lfs'] as const) {
      if (!hasPart(parts, part)) continue;
      const rules = rulesOf(part, { conversationDirectories, unpackedBytesMax });
      await checkTarFile(toFs(joinPath(parts, part)), rules);
    }
    if (hasPart(parts, 'repo.bundle')) {
      await readBundleHeader(createReadStream(toFs(joinPath(parts, 'repo.bundle'))));
    }
  } catch (error) {
    if (!(error instanceof ArchiveRefused)) throw error;
    throw new ToolError(error.code, error.message, error);
  }
}
