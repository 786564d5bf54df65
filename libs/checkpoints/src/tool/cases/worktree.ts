import { createServer } from 'node:net';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from './case.ts';
import { append, chmod, commit, git, link, remove, shell, write } from './scene.ts';

/** The groups "worktree", "empty" and "names": kinds of files, empty directories, odd names. */
export const worktreeCases: Case[] = [
  {
    name: 'symlink_changes',
    build: (scene) => {
      link(scene, 'b.txt', 'link');
      link(scene, '/etc/hostname', 'absolute');
      link(scene, 'nowhere/at all', 'dangling');
      link(scene, '../outside', 'dir/up');
      git(scene, ['add', 'absolute']);
    },
  },
  {
    name: 'type_file_to_dir',
    build: (scene) => {
      remove(scene, 'a.txt');
      write(scene, 'a.txt/inside.txt', 'now a directory\n');
    },
  },
  {
    name: 'type_dir_to_file',
    build: (scene) => {
      remove(scene, 'dir');
      write(scene, 'dir', 'now a file\n');
    },
  },
  {
    name: 'type_file_to_symlink',
    build: (scene) => {
      link(scene, 'c.txt', 'b.txt');
      git(scene, ['add', 'b.txt']);
      link(scene, 'dir', 'c.txt');
    },
  },
  {
    name: 'type_dir_to_symlink',
    build: (scene) => {
      remove(scene, 'dir');
      link(scene, 'dir2', 'dir');
    },
  },
  {
    name: 'type_symlink_to_dir',
    build: (scene) => {
      remove(scene, 'link');
      write(scene, 'link/file.txt', 'x\n');
    },
  },
  {
    name: 'binary_changes',
    build: (scene) => {
      write(scene, 'data.bin', Buffer.from(Array.from({ length: 3000 }, (_, n) => (n * 7) % 256)));
      git(scene, ['add', 'data.bin']);
      append(scene, 'data.bin', '\0\0tail');
      write(scene, 'new.bin', Buffer.alloc(70_000, 3));
    },
  },
  {
    name: 'special_files',
    build: async (scene) => {
      shell(scene, 'mkfifo pipe dir/pipe; mkdir only; mkfifo only/pipe');
      const server = createServer();
      await new Promise<void>((resolve) => {
        server.listen(join(scene.work, 'socket'), resolve);
      });
      scene.closers.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
    },
    named: ['pipe', 'dir/pipe', 'only/pipe', 'socket'],
    adjust: (seen) => {
      for (const path of ['pipe', 'dir/pipe', 'only/pipe', 'socket']) delete seen.files[path];
    },
  },
  {
    name: 'unreadable_file',
    build: (scene) => {
      write(scene, 'secret.txt', 'cannot be read by others\n');
      append(scene, 'b.txt', 'tracked and unreadable\n');
      append(scene, 'c.txt', 'readable\n');
      chmod(scene, 'secret.txt', 0);
      chmod(scene, 'b.txt', 0);
    },
    // Root reads it anyway; any other user gets the rest and the names.
    named: process.getuid?.() === 0 ? [] : ['secret.txt', 'b.txt'],
    lossesAllowed: /secret\.txt|b\.txt/,
    adjust: (seen) => {
      if (process.getuid?.() === 0) return;
      delete seen.files['secret.txt'];
      delete seen.files['b.txt'];
      seen.status = [];
      seen.index = [];
    },
  },
  {
    name: 'untracked_dir_symlink',
    build: (scene) => {
      link(scene, 'dir', 'alias');
      link(scene, '/usr', 'system');
      write(scene, 'new/deep/file.txt', 'x\n');
      link(scene, '../../dir', 'new/deep/back');
    },
  },
];

export const emptyCases: Case[] = [
  {
    name: 'empty_directories',
    build: (scene) => {
      mkdirSync(join(scene.work, 'hollow/inner/deepest'), { recursive: true });
      mkdirSync(join(scene.work, 'dir/hollow'));
      mkdirSync(join(scene.work, 'fresh/hollow'), { recursive: true });
      write(scene, 'fresh/file.txt', 'x\n');
      remove(scene, 'dir2/f.txt');
      remove(scene, 'dir/sub/e.txt');
      chmod(scene, 'dir/hollow', 0o700);
    },
  },
];

const ODD = [
  ' leading space',
  'trailing space ',
  '-dash',
  '--option=x',
  'new\nline',
  'tab\there',
  '"quoted"',
  "it's",
  'back\\slash',
  '*star?[x]',
  ':(exclude)magic',
  '!bang',
  '#hash',
  '$(touch canary)',
  '`id`',
  'ünïcödé 漢字 🚀',
  'a=b',
  '~tilde',
  '%25percent',
  '@',
];

const raw = (...bytes: number[]): Buffer => Buffer.from(bytes);

export const nameCases: Case[] = [
  {
    name: 'names_odd',
    build: (scene) => {
      for (const name of ODD) write(scene, `tracked/${name}`, `tracked ${name}\n`);
      commit(scene, 'odd names');
      for (const name of ODD) {
        append(scene, `tracked/${name}`, 'edited\n');
        write(scene, `untracked/${name}`, 'untracked\n');
        write(scene, `top-${name}`, 'untracked\n');
      }
      for (const name of ODD.slice(0, 4)) {
        git(scene, ['add', '--', `:(literal)tracked/${name}`]);
        append(scene, `tracked/${name}`, 'again\n');
      }
    },
  },
  {
    name: 'names_non_utf8',
    build: (scene) => {
      const at = (name: Buffer): Buffer => Buffer.concat([Buffer.from(`${scene.work}/`), name]);
      writeFileSync(at(raw(0x66, 0xff, 0xfe, 0x31)), 'tracked\n');
      mkdirSync(at(raw(0xe9, 0x64)));
      writeFileSync(at(raw(0xe9, 0x64, 0x2f, 0x80)), 'tracked\n');
      commit(scene, 'names that are not UTF-8');
      writeFileSync(at(raw(0x66, 0xff, 0xfe, 0x31)), 'edited\n');
      writeFileSync(at(raw(0xe9, 0x64, 0x2f, 0x81)), 'untracked\n');
      mkdirSync(at(raw(0xc3)));
      writeFileSync(at(raw(0xc3, 0x2f, 0xa9)), 'untracked\n');
      symlinkSync(raw(0xff, 0xfd), at(raw(0x6c, 0xff)));
    },
  },
  {
    name: 'names_long',
    build: (scene) => {
      const long = 'n'.repeat(250);
      write(scene, `${'d'.repeat(100)}/${'e'.repeat(120)}/${long}`, 'tracked\n');
      commit(scene, 'long');
      append(scene, `${'d'.repeat(100)}/${'e'.repeat(120)}/${long}`, 'edited\n');
      write(scene, `${'u'.repeat(200)}/${'v'.repeat(200)}/${long}`, 'untracked\n');
      link(scene, `${'t'.repeat(300)}/target`, 'long link');
    },
  },
  {
    name: 'names_case',
    build: (scene) => {
      write(scene, 'A.TXT', 'another file than a.txt\n');
      write(scene, 'Dir/d.txt', 'another directory\n');
      git(scene, ['add', 'A.TXT']);
      write(scene, 'dir/D.txt', 'untracked\n');
      append(scene, 'a.txt', 'edit\n');
    },
  },
  {
    name: 'names_deep',
    build: (scene) => {
      // Deeper than the 4096 bytes that a path may have.
      const part = 'd'.repeat(200);
      shell(
        scene,
        `for i in $(seq 24); do mkdir ${part} && cd ${part}; done; echo unreachable > bottom`,
      );
      write(scene, 'near.txt', 'kept\n');
      scene.closers.push(() => {
        shell(scene, `cd '${scene.root}' && rm -rf work.before work`, scene.root);
      });
    },
    named: [/ddd.*(?:ENAMETOOLONG|too long|not readable)/i],
    adjust: (seen) => {
      for (const path of Object.keys(seen.files)) {
        if (path.startsWith('ddd')) delete seen.files[path];
      }
      seen.status = seen.status.filter((line) => !line.startsWith('? ddd'));
    },
  },
];
