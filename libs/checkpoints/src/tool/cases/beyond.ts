import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Case } from './case.ts';
import {
  append,
  BRANCH,
  commit,
  elsewhere,
  git,
  link,
  remove,
  shell,
  write,
  type Scene,
} from './scene.ts';

/** States that the list of the facts lacks. */
let current: Scene | undefined;

const remember = (scene: Scene): void => {
  current = scene;
};

export const beyondCases: Case[] = [
  {
    name: 'more_base_gone_with_older_branch',
    build: (scene) => {
      git(scene, ['checkout', '-q', '-b', 'from-below', 'HEAD^']);
      append(scene, 'dir/d.txt', 'forked below the base\n');
      commit(scene, 'below');
      git(scene, ['checkout', '-q', BRANCH]);
      append(scene, 'b.txt', 'work\n');
      commit(scene, 'work');
    },
    world: (scene) => {
      const cwd = elsewhere(scene);
      git(scene, ['checkout', '-q', '--orphan', 'replaced'], { cwd });
      git(scene, ['commit', '-q', '-m', 'another history'], { cwd });
      git(scene, ['push', '-q', '--force', 'origin', 'replaced:main', ':side', ':v1'], { cwd });
      git(scene, ['reflog', 'expire', '--expire=now', '--all'], { cwd: scene.origin });
      git(scene, ['gc', '-q', '--prune=now'], { cwd: scene.origin });
    },
    lossesAllowed: /history before it is cut/,
    check: (scene) => {
      expect(git(scene, ['log', '--format=%s', 'from-below'])).toBe('below\nfirst');
    },
  },
  {
    name: 'more_newline_and_quotes_untracked',
    build: (scene) => {
      const name = 'a "quoted"\nname with \\ and \ttab';
      write(scene, `${name}/${name}`, 'x\n');
      mkdirSync(join(scene.work, `${name}/empty "dir"\n`));
      link(scene, name, `link to ${name}`);
    },
  },
  {
    name: 'more_skip_worktree_directory_and_staged_deletion',
    build: (scene) => {
      git(scene, ['update-index', '--skip-worktree', 'dir/d.txt', 'dir/sub/e.txt']);
      remove(scene, 'dir');
      git(scene, ['rm', '-q', '--cached', 'dir2/f.txt']);
      git(scene, ['update-index', '--assume-unchanged', 'a.txt']);
      remove(scene, 'a.txt');
    },
  },
  {
    name: 'more_staged_directory_file_swap',
    build: (scene) => {
      git(scene, ['rm', '-q', '-r', 'dir']);
      write(scene, 'dir', 'staged as a file\n');
      git(scene, ['add', 'dir']);
      remove(scene, 'dir');
      write(scene, 'dir/again/deep.txt', 'a directory on disk\n');
    },
  },
  {
    name: 'more_file_replaced_while_captured',
    build: (scene) => {
      append(scene, 'a.txt', 'edit\n');
      write(scene, 'volatile.txt', 'old\n');
      write(scene, 'vanishing.txt', 'old\n');
      remember(scene);
    },
    hooks: {
      onPhase: (phase) => {
        if (phase !== 'observed' || !current) return;
        remove(current, 'vanishing.txt');
        remove(current, 'volatile.txt');
        link(current, '/etc/passwd', 'volatile.txt');
        remove(current, 'c.txt');
        remove(current, 'b.txt');
        write(current, 'b.txt/now/a directory', 'x\n');
      },
    },
    withoutComparison: true,
    lossesAllowed: /./,
    check: (scene) => {
      expect(git(scene, ['status', '--porcelain', 'a.txt'])).toBe(' M a.txt');
      expect(readdirSync(scene.work)).toContain('volatile.txt');
    },
  },
  {
    name: 'more_capture_while_gc_runs',
    build: (scene) => {
      for (let number = 0; number < 30; number++) {
        append(scene, 'a.txt', `${number}\n`);
        commit(scene, `commit ${number}`);
      }
      append(scene, 'b.txt', 'edit\n');
      remember(scene);
    },
    hooks: {
      onPhase: (phase) => {
        // All refs are packed and all loose objects move under the capture's feet.
        if (phase !== 'written' && current) git(current, ['gc', '-q', '--prune=now']);
      },
    },
    gitDirectoryChanges: true,
  },
  {
    name: 'more_unreadable_directory',
    build: (scene) => {
      write(scene, 'locked/inside.txt', 'x\n');
      write(scene, 'seen.txt', 'x\n');
      chmodSync(join(scene.work, 'locked'), 0);
    },
    // Root can enter it; anybody else gets its name in the report.
    named: process.getuid?.() === 0 ? [] : ['locked'],
    lossesAllowed: /locked/,
    adjust: (seen) => {
      if (process.getuid?.() === 0) return;
      for (const path of Object.keys(seen.files)) {
        if (path.startsWith('locked')) delete seen.files[path];
      }
    },
  },
  {
    name: 'more_read_only_directories',
    build: (scene) => {
      write(scene, 'cache/mod/file.go', 'x\n');
      chmodSync(join(scene.work, 'cache/mod/file.go'), 0o444);
      chmodSync(join(scene.work, 'cache/mod'), 0o555);
      append(scene, 'dir/d.txt', 'edit\n');
      chmodSync(join(scene.work, 'dir'), 0o555);
    },
  },
  {
    name: 'more_missing_staged_object',
    build: (scene) => {
      write(scene, 'lost.txt', 'its object goes away\n');
      git(scene, ['add', 'lost.txt']);
      const id = git(scene, ['rev-parse', ':lost.txt']);
      rmSync(join(scene.work, `.git/objects/${id.slice(0, 2)}/${id.slice(2)}`));
      remove(scene, 'lost.txt');
      append(scene, 'a.txt', 'kept all the same\n');
    },
    named: ['lost.txt'],
    lossesAllowed: /lost\.txt/,
    adjust: (seen) => {
      seen.fsck = '';
      seen.index = seen.index.filter((line) => !line.endsWith('lost.txt'));
      seen.status = seen.status.filter((line) => !line.endsWith('lost.txt'));
    },
  },
  {
    name: 'more_alternates',
    build: (scene) => {
      const mirror = join(scene.root, 'mirror.git');
      git(scene, ['clone', '-q', '--mirror', scene.origin, mirror], { cwd: scene.root });
      rmSync(scene.work, { recursive: true });
      git(scene, ['clone', '-q', '--reference', mirror, scene.origin, scene.work], {
        cwd: scene.root,
      });
      append(scene, 'a.txt', 'edit\n');
      commit(scene, 'over a mirror');
      append(scene, 'b.txt', 'more\n');
    },
  },
  {
    name: 'more_grafts_file',
    build: (scene) => {
      append(scene, 'a.txt', 'edit\n');
      const id = commit(scene, 'work');
      writeFileSync(join(scene.work, '.git/info/grafts'), `${id}\n`);
      append(scene, 'b.txt', 'more\n');
    },
    world: (scene) => rmSync(join(scene.work, '.git/info/grafts')),
  },
  {
    name: 'more_bare_repository_as_fixture',
    build: (scene) => {
      git(scene, ['init', '-q', '--bare', 'fixtures/remote.git']);
      git(scene, ['push', '-q', 'fixtures/remote.git', 'HEAD:refs/heads/main']);
    },
  },
  {
    name: 'more_odd_index_flags_together',
    build: (scene) => {
      write(scene, 'planned.txt', 'x\n');
      git(scene, ['add', '-N', 'planned.txt']);
      git(scene, ['update-index', '--assume-unchanged', 'b.txt']);
      git(scene, ['update-index', '--skip-worktree', 'b.txt', 'c.txt']);
      append(scene, 'b.txt', 'hidden twice\n');
      git(scene, ['update-index', '--chmod=+x', 'dir/d.txt']);
    },
  },
  {
    name: 'more_racy_edit',
    build: (scene) => {
      // Same size, same second as the index: only the content tells.
      write(scene, 'racy.txt', 'aaaa\n');
      git(scene, ['add', 'racy.txt']);
      shell(scene, "printf 'bbbb\\n' > racy.txt; touch -r .git/index racy.txt");
    },
  },
];
