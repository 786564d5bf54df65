import { mkdirSync, writeFileSync } from 'node:fs';
import { joinPath, toFs } from './byte-path.ts';
import { findGitDirectory } from './repository.ts';
import { ToolError } from './tool-error.ts';

/** An empty repository where the environment cloned none; no template, so no hooks. */
export function initRepository(work: string, format: 'sha1' | 'sha256'): void {
  const { state } = findGitDirectory(work);
  if (state === 'found') return;
  if (state === 'unusable') {
    throw new ToolError('refused', 'the work directory has a .git that is no repository');
  }
  const git = joinPath(work, '.git');
  for (const name of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'info']) {
    mkdirSync(toFs(joinPath(git, name)), { recursive: true });
  }
  const extension = format === 'sha256' ? '[extensions]\n\tobjectformat = sha256\n' : '';
  const version = format === 'sha256' ? 1 : 0;
  const config = `[core]\n\trepositoryformatversion = ${version}\n\tbare = false\n${extension}`;
  writeFileSync(toFs(joinPath(git, 'config')), config);
  writeFileSync(toFs(joinPath(git, 'HEAD')), 'ref: refs/heads/main\n');
}
