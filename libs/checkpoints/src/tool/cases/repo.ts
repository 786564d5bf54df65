import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Case } from './case.ts';
import { append, commit, elsewhere, git, text, write, type Scene } from './scene.ts';

/** The group "repo": kinds of repositories, and what can happen to the remote meanwhile. */

function localWork(scene: Scene): void {
  append(scene, 'a.txt', 'committed\n');
  commit(scene, 'work');
  append(scene, 'b.txt', 'staged\n');
  git(scene, ['add', 'b.txt']);
  append(scene, 'c.txt', 'unstaged\n');
  write(scene, 'new.txt', 'untracked\n');
}

/** Rewrites main on the remote so that nothing of the old history is left there. */
function replaceMain(scene: Scene, prune: boolean): void {
  const cwd = elsewhere(scene);
  git(scene, ['checkout', '-q', '--orphan', 'replaced'], { cwd });
  git(scene, ['commit', '-q', '-m', 'another history'], { cwd });
  git(scene, ['push', '-q', '--force', 'origin', 'replaced:main', ':side', ':v1'], { cwd });
  if (!prune) return;
  git(scene, ['reflog', 'expire', '--expire=now', '--all'], { cwd: scene.origin });
  git(scene, ['gc', '-q', '--prune=now'], { cwd: scene.origin });
}

const shallowUrl = (scene: Scene): string => `file://${scene.origin}`;

function cloneFrom(scene: Scene, ...args: string[]): void {
  git(scene, ['clone', '-q', ...args, scene.work], {
    cwd: scene.root,
    env: { GIT_CONFIG_GLOBAL: '/dev/null' },
  });
}

function reclone(scene: Scene, ...args: string[]): void {
  rmSync(scene.work, { recursive: true });
  cloneFrom(scene, ...args);
  git(scene, ['checkout', '-q', '-b', 'hangar/session/demo']);
}

const CUT = /history before it is cut|ref dropped|entries of commits that are not to be had/;

export const repoCases: Case[] = [
  {
    name: 'linked_worktree',
    build: (scene) => {
      git(scene, ['worktree', 'add', '-q', '-b', 'second', join(scene.root, 'second')]);
      localWork(scene);
    },
    named: [/second.*linked work tree outside/],
  },
  {
    name: 'linked_worktree_inside',
    build: (scene) => {
      git(scene, ['worktree', 'add', '-q', '-b', 'inside', 'trees/inside']);
      const cwd = join(scene.work, 'trees/inside');
      write(scene, 'trees/inside/a.txt', 'in the second tree\n');
      commit(scene, 'inside', cwd);
      append(scene, 'trees/inside/b.txt', 'dirty inside\n');
      localWorkKeepingTree(scene);
    },
  },
  {
    name: 'work_is_linked_worktree',
    build: (scene) => {
      const main = join(scene.root, 'main');
      rmSync(scene.work, { recursive: true });
      git(scene, ['clone', '-q', scene.origin, main], { cwd: scene.root });
      const add = ['worktree', 'add', '-q', '-b', 'hangar/session/demo', scene.work];
      git(scene, add, { cwd: main });
      localWork(scene);
    },
    adjust: (seen) => {
      delete seen.state['ORIG_HEAD'];
      // The other work tree's own reflog of its branch is not this session's.
      for (const key of Object.keys(seen.state))
        if (key.startsWith('hooks/')) delete seen.state[key];
    },
  },
  {
    name: 'separate_git_dir',
    build: (scene) => {
      const place = join(scene.root, 'git-directory');
      git(scene, ['init', '-q', `--separate-git-dir=${place}`]);
      localWork(scene);
    },
  },
  {
    name: 'detached_head',
    build: (scene) => {
      git(scene, ['checkout', '-q', '--detach', 'HEAD^']);
      append(scene, 'b.txt', 'edit\n');
    },
  },
  {
    name: 'detached_commits',
    build: (scene) => {
      git(scene, ['checkout', '-q', '--detach']);
      localWork(scene);
    },
  },
  {
    name: 'unborn_empty_remote',
    start: 'empty_remote',
    build: (scene) => {
      write(scene, 'first.txt', 'staged\n');
      git(scene, ['add', 'first.txt']);
      append(scene, 'first.txt', 'unstaged\n');
      write(scene, 'second.txt', 'untracked\n');
    },
  },
  {
    name: 'first_commit_empty_remote',
    start: 'empty_remote',
    build: (scene) => {
      write(scene, 'first.txt', 'one\n');
      commit(scene, 'first');
      append(scene, 'first.txt', 'two\n');
    },
  },
  {
    name: 'orphan_branch',
    build: (scene) => {
      git(scene, ['checkout', '-q', '--orphan', 'pages']);
      git(scene, ['rm', '-q', '--cached', 'a.txt']);
      write(scene, 'index.html', '<p>\n');
      git(scene, ['add', 'index.html']);
    },
  },
  {
    name: 'no_remote',
    build: (scene) => {
      git(scene, ['remote', 'remove', 'origin']);
      localWork(scene);
    },
    clone: (scene) => mkdirSync(scene.work),
  },
  {
    name: 'no_git',
    start: 'nothing',
    build: (scene) => {
      write(scene, 'notes.txt', 'x\n');
      write(scene, 'deep/er/file', 'y\n');
      mkdirSync(join(scene.work, 'hollow'));
    },
    gitDirectoryChanges: true,
    clone: (scene) => mkdirSync(scene.work),
    named: ['not a git repository'],
  },
  {
    name: 'shallow_clone',
    build: (scene) => {
      reclone(scene, '--depth=1', '--no-single-branch', shallowUrl(scene));
      localWork(scene);
    },
  },
  {
    name: 'shallow_single',
    build: (scene) => {
      reclone(scene, '--depth=1', shallowUrl(scene));
      localWork(scene);
    },
    world: (scene) => {
      const cwd = elsewhere(scene);
      for (const number of [1, 2, 3]) {
        writeFileSync(join(cwd, 'moved.txt'), `${number}\n`);
        commit(scene, `moved ${number}`, cwd);
      }
      git(scene, ['push', '-q', 'origin', 'main'], { cwd });
    },
    clone: (scene) => cloneFrom(scene, '--depth=1', shallowUrl(scene)),
  },
  {
    name: 'partial_clone',
    build: (scene) => {
      git(scene, ['config', 'uploadpack.allowFilter', 'true'], { cwd: scene.origin });
      reclone(scene, '--filter=blob:none', shallowUrl(scene));
      localWork(scene);
    },
    adjust: dropPartial,
  },
  {
    name: 'partial_clone_offline',
    build: (scene) => {
      git(scene, ['config', 'uploadpack.allowFilter', 'true'], { cwd: scene.origin });
      reclone(scene, '--filter=blob:none', shallowUrl(scene));
      localWork(scene);
      git(scene, ['rm', '-q', '--cached', 'dir/d.txt']);
      // During the capture nothing can be fetched: the remote is away.
      cpSync(scene.origin, `${scene.origin}.away`, { recursive: true });
      rmSync(scene.origin, { recursive: true });
    },
    world: (scene) => cpSync(`${scene.origin}.away`, scene.origin, { recursive: true }),
    adjust: dropPartial,
  },
  {
    name: 'base_moved',
    build: localWork,
    world: (scene) => {
      const cwd = elsewhere(scene);
      writeFileSync(join(cwd, 'b.txt'), text([5, 'upstream']));
      commit(scene, 'upstream', cwd);
      git(scene, ['push', '-q', 'origin', 'main'], { cwd });
    },
  },
  {
    name: 'base_force_pushed',
    build: localWork,
    world: (scene) => replaceMain(scene, true),
    lossesAllowed: CUT,
    check: (_, { restored }) => {
      expect(restored.continuity.commits.state).toBe('partly');
    },
  },
  {
    name: 'base_force_pushed_unpruned',
    build: localWork,
    world: (scene) => {
      replaceMain(scene, false);
      git(scene, ['config', 'uploadpack.allowAnySHA1InWant', 'true'], { cwd: scene.origin });
    },
    lossesAllowed: CUT,
  },
  {
    name: 'base_deleted',
    build: (scene) => {
      git(scene, ['checkout', '-q', '-b', 'hangar/session/other', 'origin/side']);
      localWork(scene);
    },
    request: { base_branch: 'side' },
    world: (scene) => {
      git(scene, ['branch', '-q', '-D', 'side'], { cwd: scene.origin });
      git(scene, ['gc', '-q', '--prune=now'], { cwd: scene.origin });
    },
    lossesAllowed: CUT,
  },
  {
    name: 'history_replaced',
    build: (scene) => {
      git(scene, ['branch', 'old', 'HEAD^']);
      localWork(scene);
    },
    world: (scene) => {
      // main now ends in a commit that shares nothing, and the old objects are gone.
      replaceMain(scene, true);
    },
    lossesAllowed: CUT,
    named: [/refs\/heads\/old.*not to be had/],
    proof: { refs: false },
    adjust: (seen) => {
      seen.refs = seen.refs.filter((line) => !line.includes('refs/heads/old'));
      delete seen.state['logs/refs/heads/old'];
    },
  },
  {
    name: 'fetched_newer',
    build: (scene) => {
      const cwd = elsewhere(scene);
      writeFileSync(join(cwd, 'b.txt'), text([5, 'upstream']));
      commit(scene, 'upstream', cwd);
      git(scene, ['push', '-q', 'origin', 'main'], { cwd });
      git(scene, ['fetch', '-q']);
      git(scene, ['merge', '-q', 'origin/main']);
      localWork(scene);
    },
    world: (scene) => {
      // The remote takes that commit back again.
      const cwd = elsewhere(scene);
      git(scene, ['push', '-q', '--force', 'origin', 'HEAD^:main'], { cwd });
      git(scene, ['reflog', 'expire', '--expire=now', '--all'], { cwd: scene.origin });
      git(scene, ['gc', '-q', '--prune=now'], { cwd: scene.origin });
    },
    lossesAllowed: CUT,
  },
  {
    name: 'second_remote',
    build: (scene) => {
      const fork = join(scene.root, 'fork.git');
      git(scene, ['clone', '-q', '--bare', scene.origin, fork], { cwd: scene.root });
      git(scene, ['remote', 'add', 'fork', fork]);
      append(scene, 'a.txt', 'to the fork\n');
      commit(scene, 'fork work');
      git(scene, ['push', '-q', '-u', 'fork', 'HEAD:topic']);
      append(scene, 'b.txt', 'edit\n');
    },
    world: (scene) => rmSync(join(scene.root, 'fork.git'), { recursive: true }),
  },
  {
    name: 'sha256_repo',
    start: 'nothing',
    build: (scene) => {
      rmSync(scene.work, { recursive: true });
      const bare = ['init', '-q', '--bare', '-b', 'main', '--object-format=sha256', scene.origin];
      git(scene, bare, { cwd: scene.root });
      git(scene, ['init', '-q', '--object-format=sha256', scene.work], { cwd: scene.root });
      git(scene, ['remote', 'add', 'origin', scene.origin]);
      write(scene, 'a.txt', text());
      write(scene, 'b.txt', text());
      write(scene, 'c.txt', text());
      commit(scene, 'first');
      git(scene, ['push', '-q', 'origin', 'HEAD:main']);
      localWork(scene);
      git(scene, ['stash', '-q']);
      append(scene, 'a.txt', 'after the stash\n');
    },
  },
  {
    name: 'work_subdirectory',
    build: (scene) => {
      localWork(scene);
      append(scene, 'dir/sub/e.txt', 'edit\n');
    },
    request: { cwd: '/workspace/demo/dir/sub' },
  },
];

function localWorkKeepingTree(scene: Scene): void {
  append(scene, 'b.txt', 'staged\n');
  git(scene, ['add', 'b.txt']);
  append(scene, 'c.txt', 'unstaged\n');
}

function dropPartial(seen: { config: string[] }): void {
  seen.config = seen.config.filter((line) => !/partialclone|promisor/.test(line));
}
