import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Case } from './case.ts';
import { append, commit, git, link, remove, trap, write, type Scene } from './scene.ts';

/**
 * The group "hostile": checkouts that name programs, places outside or impossible things. No program
 * may run at capture or restore (the canary), nothing outside may be read or written.
 */

const quiet = (...settings: string[]): { settings: string[] } => ({ settings });

function edits(scene: Scene): void {
  append(scene, 'a.txt', 'committed\n');
  commit(scene, 'work');
  append(scene, 'b.txt', 'staged\n');
  git(scene, ['add', 'b.txt']);
  append(scene, 'c.txt', 'unstaged\n');
  write(scene, 'new.txt', 'untracked\n');
}

/** A directory outside that nothing may touch. */
function victim(scene: Scene): string {
  const path = join(scene.root, 'victim');
  mkdirSync(path);
  writeFileSync(join(path, 'precious.txt'), 'precious\n');
  return path;
}

const expectUntouched = (scene: Scene): void => {
  const path = join(scene.root, 'victim');
  expect(readdirSync(path)).toEqual(['precious.txt']);
  expect(readFileSync(join(path, 'precious.txt'), 'utf8')).toBe('precious\n');
};

export const hostileCases: Case[] = [
  {
    name: 'hostile_fsmonitor',
    build: (scene) => {
      edits(scene);
      git(scene, ['config', 'core.fsmonitor', trap(scene, 'fsmonitor')]);
      git(scene, ['config', 'core.fsmonitorHookVersion', '2']);
    },
    named: ['core.fsmonitor'],
    adjust: (seen) => {
      seen.config = seen.config.filter((line) => !line.startsWith('core.fsmonitor='));
    },
  },
  {
    name: 'hostile_filter',
    build: (scene) => {
      write(scene, '.gitattributes', '*.txt filter=evil\n');
      edits(scene);
      git(scene, ['config', 'filter.evil.clean', trap(scene, 'clean', 'cat')]);
      git(scene, ['config', 'filter.evil.smudge', trap(scene, 'smudge', 'cat')]);
      git(scene, ['config', 'filter.evil.process', trap(scene, 'process')]);
    },
    look: quiet('filter.evil.clean=cat', 'filter.evil.process='),
  },
  {
    name: 'hostile_diff',
    build: (scene) => {
      write(scene, '.gitattributes', '*.txt diff=evil\n');
      edits(scene);
      git(scene, ['config', 'diff.evil.textconv', trap(scene, 'textconv', 'echo rubbish')]);
      git(scene, ['config', 'diff.evil.command', trap(scene, 'command', 'echo rubbish')]);
      git(scene, ['config', 'diff.external', trap(scene, 'external', 'echo rubbish')]);
    },
  },
  {
    name: 'hostile_hooks',
    build: (scene) => {
      edits(scene);
      for (const name of [
        'reference-transaction',
        'post-index-change',
        'post-checkout',
        'pre-commit',
        'fsmonitor-watchman',
        'pre-auto-gc',
      ]) {
        const path = join(scene.work, '.git/hooks', name);
        writeFileSync(path, `#!/bin/sh\necho ${name} >> '${scene.canary}'\n`);
        chmodSync(path, 0o755);
      }
    },
  },
  {
    name: 'hostile_transport',
    build: (scene) => {
      edits(scene);
      git(scene, ['config', 'remote.origin.uploadpack', trap(scene, 'uploadpack')]);
      git(scene, ['config', 'remote.origin.proxy', 'http://127.0.0.1:1/']);
      git(scene, ['config', 'remote.evil.url', `ext::${trap(scene, 'ext')} x`]);
      git(scene, ['config', 'protocol.ext.allow', 'always']);
      git(scene, ['config', 'core.sshCommand', trap(scene, 'ssh')]);
      git(scene, ['config', 'core.gitProxy', trap(scene, 'proxy')]);
      git(scene, ['config', 'core.alternateRefsCommand', trap(scene, 'alternate')]);
      git(scene, ['config', 'uploadpack.packObjectsHook', trap(scene, 'pack')]);
    },
    named: ['core.sshcommand', 'remote.origin.uploadpack'],
    adjust: (seen) => {
      const left =
        /^(?:core\.(?:sshcommand|gitproxy|alternaterefs)|protocol|remote\.origin\.(?:up|pr))/;
      seen.config = seen.config.filter((line) => !left.test(line));
    },
  },
  {
    name: 'hostile_alias_pager',
    build: (scene) => {
      edits(scene);
      for (const name of ['status', 'diff', 'ls-files', 'bundle', 'fetch', 'read-tree']) {
        git(scene, ['config', `alias.${name}`, `!${trap(scene, `alias-${name}`)}`]);
        git(scene, ['config', `pager.${name}`, trap(scene, `pager-${name}`)]);
      }
      git(scene, ['config', 'core.pager', trap(scene, 'pager')]);
      git(scene, ['config', 'core.editor', trap(scene, 'editor')]);
      git(scene, ['config', 'gpg.program', trap(scene, 'gpg')]);
      git(scene, ['config', 'log.showSignature', 'true']);
    },
  },
  {
    name: 'hostile_worktree',
    build: (scene) => {
      edits(scene);
      git(scene, ['config', 'core.worktree', victim(scene)]);
    },
    look: { forceWorktree: true },
    adjust: (seen) => {
      seen.config = seen.config.filter((line) => !line.startsWith('core.worktree'));
    },
    check: expectUntouched,
  },
  {
    name: 'hostile_gitfile',
    build: (scene) => {
      edits(scene);
      const place = join(scene.root, 'elsewhere.git');
      renameSync(join(scene.work, '.git'), place);
      writeFileSync(join(scene.work, '.git'), `gitdir: ${place}\n`);
      git(scene, ['config', 'core.fsmonitor', trap(scene, 'fsmonitor')]);
    },
    named: ['core.fsmonitor'],
    adjust: (seen) => {
      seen.config = seen.config.filter((line) => !line.startsWith('core.fsmonitor='));
    },
  },
  {
    name: 'hostile_symlinked_git',
    build: (scene) => {
      edits(scene);
      const place = join(scene.root, 'linked.git');
      cpSync(join(scene.work, '.git'), place, { recursive: true, preserveTimestamps: true });
      rmSync(join(scene.work, '.git'), { recursive: true });
      symlinkSync(place, join(scene.work, '.git'));
      git(scene, ['update-index', '-q', '--refresh'], { mayFail: true });
    },
  },
  {
    name: 'hostile_symlink_race',
    build: (scene) => {
      // A tracked directory turned into a link to a place outside, with files of the same names.
      const path = victim(scene);
      remove(scene, 'dir');
      link(scene, path, 'dir');
      append(scene, 'a.txt', 'edit\n');
    },
    setup: (scene) => {
      // The fresh environment has such a link too: it must not be written through.
      const path = join(scene.root, 'victim');
      rmSync(join(scene.work, 'dir2'), { recursive: true });
      symlinkSync(path, join(scene.work, 'dir2'));
    },
    check: expectUntouched,
  },
  {
    name: 'hostile_names',
    build: (scene) => {
      const id = git(scene, ['rev-parse', 'HEAD']);
      mkdirSync(join(scene.work, '.git/refs/heads/-x'), { recursive: true });
      for (const name of ['--output=canary', '-x/--upload-pack=touch', '$(touch canary)', ';id']) {
        writeFileSync(join(scene.work, '.git/refs/heads', name), `${id}\n`);
      }
      write(scene, '--help', 'x\n');
      write(scene, '-rf', 'x\n');
      write(scene, '$(touch canary).txt', 'x\n');
      git(scene, ['add', '--', '--help']);
      append(scene, '--help', 'more\n');
    },
    lossesAllowed: /refs\/heads\//,
    adjust: (seen) => {
      seen.fsck = '';
    },
  },
];
