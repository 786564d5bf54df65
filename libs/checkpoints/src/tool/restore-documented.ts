import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { fromText, joinPath, toFs, toText } from './byte-path.ts';
import { prerequisitesOf } from './bundle.ts';
import { describeContinuity } from './continuity.ts';
import type { RestoreReport } from './contract.ts';
import { extractPart, hasPart } from './extract.ts';
import type { RestoreContext } from './restore.ts';
import { gitOrThrow, writeShadowRefs } from './shadow.ts';
import { ToolError } from './tool-error.ts';

/**
 * A checkpoint of only the documented five parts (seed 000, 5.3): fetch the bundle, check out the
 * branch at head, apply the patch, unpack. Older checkpoints stay good this way.
 */
export async function restoreDocumented(context: RestoreContext): Promise<RestoreReport> {
  const { request, parts, shadow, work, repository } = context;
  const { head } = request.meta;
  if (head === null) throw new ToolError('refused', 'meta.json names no head');
  const branch = fromText(request.meta.branch ?? 'main').replace(/^refs\/heads\//, '');
  if (hasPart(parts, 'repo.bundle')) await fetchBundle(context);
  const present = await shadow.git(['cat-file', '-e', `${head}^{tree}`]);
  if (present.status !== 0) throw new ToolError('base_gone', `the commit ${head} is not to be had`);
  const checkout = await shadow.git(['read-tree', '--reset', '-u', head]);
  if (checkout.status !== 0) {
    throw new ToolError('refused', `the work tree cannot be written: ${checkout.message}`);
  }
  const index = toFs(joinPath(repository.gitDirectory, 'index'));
  copyFileSync(toFs(joinPath(shadow.directory, 'index')), `${index.toString()}.hangar`);
  renameSync(`${index.toString()}.hangar`, index);
  await gitOrThrow(shadow, ['clean', '-ffdq']);
  await applyPatch(context);
  if (hasPart(parts, 'untracked.tgz')) await extractPart(parts, 'untracked.tgz', work, {});
  writeHead(context, branch, head);
  return {
    continuity: describeContinuity(request, context.losses, {
      keptBack: 0,
      cutHistory: false,
      dropped: 0,
    }),
    losses: context.losses,
    head,
    head_ref: `refs/heads/${branch}`,
    proof: { worktree: true, index: true, refs: true },
  };
}

async function fetchBundle(context: RestoreContext): Promise<void> {
  const { shadow, repository, parts } = context;
  const bundle = joinPath(parts, 'repo.bundle');
  const bases = prerequisitesOf(bundle).map((id, number) => ({
    name: `refs/hangar-base/${number}`,
    id,
  }));
  writeShadowRefs(shadow, [...repository.refs, ...bases]);
  const fetched = await shadow.git([
    'fetch',
    '-q',
    '--no-tags',
    '--no-write-fetch-head',
    '--force',
    toText(bundle),
    '+refs/hangar/*:refs/hangar/*',
  ]);
  if (fetched.status === 0) return;
  const gone = fetched.message.includes('prerequisite');
  const line = fetched.message.split('\n')[0] ?? '';
  throw new ToolError(gone ? 'base_gone' : 'corrupt', `repo.bundle is not usable: ${line}`);
}

async function applyPatch(context: RestoreContext): Promise<void> {
  const path = joinPath(context.parts, 'wip.patch');
  if (!hasPart(context.parts, 'wip.patch')) return;
  const applied = await context.shadow.git([
    '-c',
    'apply.whitespace=nowarn',
    '-c',
    'apply.ignoreWhitespace=no',
    'apply',
    '--binary',
    '--allow-empty',
    toText(path),
  ]);
  if (applied.status !== 0) {
    throw new ToolError('corrupt', `wip.patch does not apply: ${applied.message.split('\n')[0]}`);
  }
}

function writeHead(context: RestoreContext, branch: string, head: string): void {
  const { gitDirectory, commonDirectory, refs } = context.repository;
  const name = `refs/heads/${branch}`;
  const kept = refs.filter((ref) => ref.name !== name);
  const lines = [...kept, { name, id: head }].map((ref) => `${ref.id} ${ref.name}\n`).join('');
  writeFileSync(toFs(joinPath(commonDirectory, 'packed-refs')), lines, 'latin1');
  writeFileSync(toFs(joinPath(gitDirectory, 'HEAD')), `ref: ${name}\n`, 'latin1');
}
