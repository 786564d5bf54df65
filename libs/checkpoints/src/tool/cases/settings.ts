import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Case } from './case.ts';
import { append, chmod, commit, git, remove, shell, write } from './scene.ts';

/** The groups "config" and "ignored": what .git/config, hooks and ignore rules say. */
export const configCases: Case[] = [
  {
    name: 'hooks_local',
    build: (scene) => {
      append(scene, 'a.txt', 'edit\n');
      git(scene, ['add', 'a.txt']);
      git(scene, ['stash', '-q']);
      for (const name of ['reference-transaction', 'post-checkout', 'post-index-change']) {
        const path = join(scene.work, '.git/hooks', name);
        writeFileSync(path, `#!/bin/sh\necho ${name} >> '${scene.canary}'\n`);
        chmodSync(path, 0o755);
      }
      chmodSync(join(scene.work, '.git/hooks/post-checkout'), 0o700);
    },
  },
  {
    name: 'hooks_path',
    build: (scene) => {
      write(scene, 'hooks/post-checkout', `#!/bin/sh\necho ran >> '${scene.canary}'\n`);
      chmod(scene, 'hooks/post-checkout', 0o755);
      write(scene, 'hooks/reference-transaction', `#!/bin/sh\necho ran >> '${scene.canary}'\n`);
      chmod(scene, 'hooks/reference-transaction', 0o755);
      commit(scene, 'hooks in the tree');
      append(scene, 'b.txt', 'edit\n');
      git(scene, ['config', 'core.hooksPath', 'hooks']);
    },
  },
  {
    name: 'exclude_file',
    build: (scene) => {
      write(scene, '.git/info/exclude', '*.private\n');
      write(scene, 'x.private', 'hidden\n');
      write(scene, 'x.public', 'shown\n');
    },
  },
  {
    name: 'global_excludes',
    build: (scene) => {
      writeFileSync(join(scene.home, '.gitignore_global'), '*.swp\n');
      git(scene, ['config', '--global', 'core.excludesFile', '~/.gitignore_global']);
      write(scene, 'edit.swp', 'hidden\n');
      write(scene, 'edit.txt', 'shown\n');
    },
    check: (_, { captured }) => {
      expect(captured.kept.untracked_files).toBe(1);
    },
  },
  {
    name: 'info_attributes',
    build: (scene) => {
      write(scene, '.git/info/attributes', '*.txt ident\n');
      write(scene, 'id.txt', '$Id$\n');
      commit(scene, 'ident');
      remove(scene, 'id.txt');
      git(scene, ['checkout', '-q', '--', 'id.txt']);
      append(scene, 'a.txt', 'edit\n');
    },
  },
  {
    name: 'gitignore_changed',
    build: (scene) => {
      write(scene, '.gitignore', 'node_modules/\n');
      write(scene, 'now.log', 'not ignored any more\n');
      write(scene, 'build/out.bin', 'neither\n');
    },
    setup: (scene) => {
      // The set-up of the fresh sandbox builds again.
      write(scene, 'build/left.bin', 'left by the set-up\n');
      write(scene, 'setup.log', 'left by the set-up\n');
    },
  },
  {
    name: 'gitignore_untracked',
    build: (scene) => {
      write(scene, 'tool/.gitignore', '*\n!keep.txt\n');
      write(scene, 'tool/keep.txt', 'kept\n');
      write(scene, 'tool/drop.txt', 'ignored by an ignored rule\n');
      write(scene, 'other/.gitignore', 'cache\n');
      write(scene, 'other/cache/file', 'ignored\n');
      write(scene, 'other/file', 'kept\n');
    },
    adjust: (seen) => {
      // Only the ignored content of it held the directory together.
      delete seen.files['other/cache'];
    },
  },
  {
    name: 'sparse_cone',
    build: (scene) => {
      git(scene, ['sparse-checkout', 'set', '--cone', 'dir']);
      append(scene, 'dir/d.txt', 'edit\n');
      git(scene, ['add', 'dir/d.txt']);
    },
  },
  {
    name: 'sparse_no_cone',
    build: (scene) => {
      git(scene, ['sparse-checkout', 'set', '--no-cone', '/*.txt', '!/c.txt']);
      append(scene, 'a.txt', 'edit\n');
    },
  },
  {
    name: 'sparse_index',
    build: (scene) => {
      git(scene, ['sparse-checkout', 'set', '--cone', '--sparse-index', 'dir2']);
      append(scene, 'dir2/f.txt', 'edit\n');
      append(scene, 'a.txt', 'staged\n');
      git(scene, ['add', 'a.txt']);
    },
  },
  {
    name: 'other_owner',
    build: (scene) => {
      append(scene, 'a.txt', 'edit\n');
      git(scene, ['add', 'a.txt']);
      append(scene, 'a.txt', 'more\n');
      // As root the owner changes; otherwise git is told to assume so.
      if (process.getuid?.() === 0) shell(scene, `chown -R 65534:65534 '${scene.work}'`);
      else process.env['GIT_TEST_ASSUME_DIFFERENT_OWNER'] = '1';
      scene.closers.push(() => {
        delete process.env['GIT_TEST_ASSUME_DIFFERENT_OWNER'];
      });
      git(scene, ['config', '--global', 'safe.directory', '*'], { cwd: scene.root });
    },
  },
  {
    name: 'credentials_in_config',
    build: (scene) => {
      git(scene, ['config', 'remote.fork.url', 'https://me:hunter2@example.com/fork.git']);
      git(scene, ['config', 'http.https://example.com/.extraHeader', 'Authorization: hunter2']);
      git(scene, ['config', 'credential.helper', '!echo hunter2']);
      git(scene, [
        'config',
        'url.https://x:hunter2@example.com/.insteadOf',
        'https://example.com/',
      ]);
      git(scene, ['config', 'core.sshCommand', 'ssh -i hunter2']);
      git(scene, ['config', 'remote.fork.fetch', '+refs/heads/*:refs/remotes/fork/*']);
    },
    named: [/http\..*extraheader/, /credential\.helper/, /remote\.fork\.url/, /sshcommand/],
    adjust: (seen) => {
      seen.config = seen.config.filter((line) => !/hunter2/.test(line));
    },
    check: (scene) => {
      // Not in any part, compressed or not, and not in the report.
      const found = shell(
        scene,
        `for f in *; do (zstdcat "$f" || zcat "$f" || cat "$f") 2>/dev/null; cat "$f"; done | grep -ac hunter2 || true`,
        scene.parts,
      );
      expect(found.trim()).toBe('0');
    },
  },
];

export const ignoredCases: Case[] = [
  {
    name: 'ignored_files',
    build: (scene) => {
      write(scene, 'node_modules/pkg/index.js', 'x\n');
      write(scene, 'build/out.o', 'x\n');
      write(scene, 'dir/debug.log', 'x\n');
    },
    check: (_, { restored }) => {
      const { ignored } = restored.continuity;
      expect(ignored.state).toBe('lost');
      for (const name of ['node_modules/', 'build/', 'dir/debug.log']) {
        expect(ignored.detail).toContain(name);
      }
    },
  },
  {
    name: 'stale_after_setup',
    build: (scene) => {
      append(scene, 'a.txt', 'edit\n');
      remove(scene, 'dir2');
      write(scene, 'new.txt', 'x\n');
    },
    setup: (scene) => {
      mkdirSync(join(scene.work, 'left/repo'), { recursive: true });
      git(scene, ['init', '-q'], { cwd: join(scene.work, 'left/repo') });
      write(scene, 'left/repo/file', 'x\n');
      write(scene, 'new.txt/in-the-way', 'x\n');
      write(scene, 'node_modules/pkg/index.js', 'installed by the set-up\n');
      append(scene, 'b.txt', 'changed by the set-up\n');
      git(scene, ['add', 'b.txt']);
      mkdirSync(join(scene.work, 'dir/hollow'));
      write(scene, '.git/hooks/post-merge', '#!/bin/sh\n');
    },
    check: (scene) => {
      expect(shell(scene, 'cat node_modules/pkg/index.js')).toBe('installed by the set-up\n');
    },
  },
];
