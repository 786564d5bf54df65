import type { Case } from './case.ts';
import { append, BRANCH, chmod, commit, elsewhere, git, remove, text, write } from './scene.ts';

/** The group "plain": commits in all the ways they can stand to the remote. */
export const plainCases: Case[] = [
  { name: 'clean_at_base' },
  {
    name: 'commits_only',
    build: (scene) => {
      for (const number of [1, 2, 3]) {
        append(scene, 'a.txt', `more ${number}\n`);
        commit(scene, `commit ${number}`);
      }
    },
  },
  {
    name: 'everything_simple',
    build: (scene) => {
      append(scene, 'a.txt', 'committed\n');
      commit(scene, 'work');
      append(scene, 'b.txt', 'staged\n');
      git(scene, ['add', 'b.txt']);
      append(scene, 'c.txt', 'unstaged\n');
      write(scene, 'new/file.txt', 'untracked\n');
    },
  },
  {
    name: 'commits_pushed',
    build: (scene) => {
      append(scene, 'a.txt', 'pushed\n');
      commit(scene, 'pushed');
      git(scene, ['push', '-q', 'origin', BRANCH]);
    },
  },
  {
    name: 'pushed_partly',
    build: (scene) => {
      append(scene, 'a.txt', 'pushed\n');
      commit(scene, 'pushed');
      git(scene, ['push', '-q', 'origin', BRANCH]);
      append(scene, 'a.txt', 'not pushed\n');
      commit(scene, 'not pushed');
    },
    world: (scene) => {
      // Squash-merged and deleted on the remote.
      const cwd = elsewhere(scene);
      git(scene, ['merge', '-q', '--squash', `origin/${BRANCH}`], { cwd });
      git(scene, ['commit', '-q', '-m', 'squashed'], { cwd });
      git(scene, ['push', '-q', 'origin', 'main', `:${BRANCH}`], { cwd });
      git(scene, ['reflog', 'expire', '--expire=now', '--all'], { cwd: scene.origin });
      git(scene, ['gc', '-q', '--prune=now'], { cwd: scene.origin });
    },
  },
  {
    name: 'unpushed_octopus',
    build: (scene) => {
      for (const name of ['one', 'two', 'three']) {
        git(scene, ['checkout', '-q', '-b', name, BRANCH]);
        write(scene, `${name}.txt`, name);
        commit(scene, name);
      }
      git(scene, ['checkout', '-q', BRANCH]);
      git(scene, ['merge', '-q', '-m', 'octopus', 'one', 'two', 'three']);
    },
  },
];

/** The group "index": what the index says apart from HEAD and the disk. */
export const indexCases: Case[] = [
  {
    name: 'staged_and_unstaged',
    build: (scene) => {
      write(scene, 'a.txt', text([1, 'line one'], [3, 'staged']));
      git(scene, ['add', 'a.txt']);
      write(scene, 'a.txt', text([1, 'line one'], [3, 'staged'], [9, 'unstaged']));
    },
  },
  {
    name: 'staged_only',
    build: (scene) => {
      append(scene, 'a.txt', 'staged\n');
      write(scene, 'new.txt', 'new\n');
      git(scene, ['add', '-A']);
    },
  },
  {
    name: 'staged_then_reverted',
    build: (scene) => {
      const original = text([1, 'line one']);
      write(scene, 'a.txt', `${original}staged\n`);
      git(scene, ['add', 'a.txt']);
      write(scene, 'a.txt', original);
    },
  },
  {
    name: 'staged_new_then_removed',
    build: (scene) => {
      write(scene, 'fleeting.txt', 'only in the index\n');
      git(scene, ['add', 'fleeting.txt']);
      remove(scene, 'fleeting.txt');
    },
  },
  {
    name: 'intent_to_add',
    build: (scene) => {
      write(scene, 'planned.txt', 'content\n');
      write(scene, 'planned2.txt', '');
      write(scene, 'planned gone.txt', 'gone\n');
      git(scene, ['add', '-N', 'planned.txt', 'planned2.txt', 'planned gone.txt']);
      remove(scene, 'planned gone.txt');
    },
  },
  {
    name: 'staged_rename',
    build: (scene) => {
      git(scene, ['mv', 'b.txt', 'renamed.txt']);
      append(scene, 'renamed.txt', 'edited after\n');
    },
  },
  {
    name: 'deleted_files',
    build: (scene) => {
      git(scene, ['rm', '-q', 'a.txt']);
      git(scene, ['rm', '-q', '--cached', 'b.txt']);
      remove(scene, 'c.txt');
    },
  },
  { name: 'deleted_directory', build: (scene) => remove(scene, 'dir') },
  {
    name: 'mode_change',
    build: (scene) => {
      chmod(scene, 'a.txt', 0o755);
      git(scene, ['add', 'a.txt']);
      chmod(scene, 'run.sh', 0o644);
    },
  },
  {
    name: 'filemode_false',
    build: (scene) => {
      git(scene, ['config', 'core.fileMode', 'false']);
      chmod(scene, 'a.txt', 0o755);
      chmod(scene, 'run.sh', 0o644);
      append(scene, 'b.txt', 'edit\n');
    },
  },
  {
    name: 'assume_unchanged',
    build: (scene) => {
      git(scene, ['update-index', '--assume-unchanged', 'a.txt', 'b.txt']);
      append(scene, 'a.txt', 'hidden edit\n');
    },
  },
  {
    name: 'skip_worktree',
    build: (scene) => {
      git(scene, ['update-index', '--skip-worktree', 'a.txt', 'b.txt', 'c.txt']);
      append(scene, 'a.txt', 'hidden edit\n');
      remove(scene, 'b.txt');
    },
  },
  {
    name: 'ignored_but_tracked',
    build: (scene) => {
      write(scene, 'forced.log', 'staged although ignored\n');
      git(scene, ['add', '-f', 'forced.log']);
      write(scene, 'build/kept.txt', 'committed although ignored\n');
      git(scene, ['add', '-f', 'build/kept.txt']);
      git(scene, ['commit', '-q', '-m', 'forced', 'build/kept.txt']);
      append(scene, 'build/kept.txt', 'edited\n');
    },
  },
  {
    name: 'split_index',
    build: (scene) => {
      git(scene, ['update-index', '--split-index']);
      append(scene, 'a.txt', 'staged\n');
      git(scene, ['add', 'a.txt']);
      append(scene, 'b.txt', 'unstaged\n');
      git(scene, ['update-index', '--assume-unchanged', 'c.txt']);
    },
  },
  {
    name: 'index_version_4',
    build: (scene) => {
      git(scene, ['update-index', '--index-version', '4']);
      write(scene, 'dir/sub/a longer name.txt', 'x\n');
      git(scene, ['add', '-A']);
      append(scene, 'dir/sub/e.txt', 'unstaged\n');
    },
  },
  {
    name: 'index_lock',
    build: (scene) => {
      append(scene, 'a.txt', 'staged\n');
      git(scene, ['add', 'a.txt']);
      write(scene, '.git/index.lock', 'stale');
    },
  },
  {
    name: 'index_gone',
    build: (scene) => {
      append(scene, 'a.txt', 'edited\n');
      remove(scene, '.git/index');
    },
  },
];
