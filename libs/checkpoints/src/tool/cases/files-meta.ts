import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { linkSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Case } from './case.ts';
import { append, chmod, commit, git, shell, write, type Scene } from './scene.ts';

/** The groups "fsmeta", "size" and "concurrent". */
const MEBIBYTE = 1024 * 1024;

/** Sets an attribute through tar, the one program that is there and can (no setfattr needed). */
function setAttribute(scene: Scene, path: string, name: string, value: string): void {
  const record = (text: string): string => {
    let length = text.length + 3;
    while (`${length} ${text}\n`.length !== length) length = `${length} ${text}\n`.length;
    return `${length} ${text}\n`;
  };
  const body = record(`SCHILY.xattr.user.${name}=${value}`);
  const header = (entry: string, type: string, size: number): Buffer => {
    const block = Buffer.alloc(512);
    block.write(entry, 0);
    block.write('0000644\0', 100);
    block.write('0000000\0', 108);
    block.write('0000000\0', 116);
    block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
    block.write('14523770000\0', 136);
    block.write('        ', 148);
    block.write(type, 156);
    block.write('ustar\0' + '00', 257);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return block;
  };
  const content = Buffer.from(`content of ${path}\n`);
  const pad = (bytes: Buffer): Buffer =>
    Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
  const archive = join(scene.root, 'attribute.tar');
  writeFileSync(
    archive,
    Buffer.concat([
      header('pax', 'x', body.length),
      pad(Buffer.from(body)),
      header(path, '0', content.length),
      pad(content),
      Buffer.alloc(1024),
    ]),
  );
  shell(scene, `tar --xattrs --xattrs-include='user.*' -xf '${archive}'`);
}

const readAttributes = (scene: Scene, path: string): string =>
  shell(scene, `tar --xattrs --xattrs-include='user.*' --format=posix -cf - '${path}' | strings`);

export const metaCases: Case[] = [
  {
    name: 'mtimes',
    build: (scene) => {
      const set = (path: string, seconds: number): void =>
        utimesSync(join(scene.work, path), seconds, seconds);
      shell(scene, "touch -d '2021-03-04 05:06:07.123456789' a.txt");
      shell(scene, "touch -h -d '2020-01-01 00:00:00.5' link");
      write(scene, 'untracked.txt', 'x\n');
      shell(scene, "touch -d '1999-12-31 23:59:59.987654321' untracked.txt");
      set('b.txt', 4_000_000_000);
      set('c.txt', 1);
      set('dir/sub', 1_500_000_000);
      set('dir', 1_600_000_000);
    },
    check: (scene) => {
      // Untracked files keep every nanosecond; tracked ones 238 ns (Node's utimes).
      const stat = statSync(join(scene.work, 'untracked.txt'), { bigint: true });
      expect(stat.mtimeNs % 1_000_000_000n).toBe(987_654_321n);
    },
  },
  {
    name: 'modes_odd',
    build: (scene) => {
      chmod(scene, 'a.txt', 0o640);
      chmod(scene, 'b.txt', 0o600);
      chmod(scene, 'run.sh', 0o711);
      write(scene, 'loose.txt', 'x\n');
      chmod(scene, 'loose.txt', 0o606);
      chmod(scene, 'dir', 0o700);
      chmod(scene, 'dir2', 0o555);
      write(scene, 'own/file', 'x\n');
      chmod(scene, 'own', 0o750);
      chmod(scene, 'c.txt', 0o444);
    },
  },
  {
    name: 'setuid_and_owner',
    build: (scene) => {
      write(scene, 'tool', '#!/bin/sh\n');
      chmod(scene, 'tool', 0o4755);
      chmod(scene, 'run.sh', 0o2755);
      if (process.getuid?.() === 0) shell(scene, 'chown 65534:65534 tool b.txt');
    },
    adjust: (seen) => {
      // Restored by root, a set-id file would be root's: the bits go.
      for (const path of ['tool', 'run.sh']) {
        seen.files[path] = seen.files[path]!.replace(/ [42]755/, ' 755');
      }
    },
    check: (scene) => {
      const stat = statSync(join(scene.work, 'tool'));
      expect(stat.uid).toBe(process.getuid?.());
      if (process.getuid?.() === 0) expect(stat.mode & 0o6000).toBe(0);
    },
  },
  {
    name: 'hardlinks',
    build: (scene) => {
      write(scene, 'one', 'pair\n');
      linkSync(join(scene.work, 'one'), join(scene.work, 'two'));
      linkSync(join(scene.work, 'a.txt'), join(scene.work, 'mixed'));
    },
    named: [/a\.txt.*hard link/],
    check: (scene) => {
      expect(statSync(join(scene.work, 'one')).ino).toBe(statSync(join(scene.work, 'two')).ino);
    },
  },
  {
    name: 'xattrs',
    build: (scene) => {
      setAttribute(scene, 'marked.txt', 'origin', 'somewhere');
      setAttribute(scene, 'b.txt', 'tracked', 'mark');
      append(scene, 'b.txt', 'edit\n');
    },
    named: [/b\.txt.*extended attributes/],
    check: (scene) => {
      expect(readAttributes(scene, 'marked.txt')).toContain('user.origin=somewhere');
    },
  },
  {
    name: 'sparse_file',
    build: (scene) => {
      write(scene, 'holes.img', 'start');
      truncateSync(join(scene.work, 'holes.img'), 1024 * MEBIBYTE);
      append(scene, 'holes.img', 'end');
    },
    check: (scene) => {
      const stat = statSync(join(scene.work, 'holes.img'));
      expect(stat.size).toBe(1024 * MEBIBYTE + 3);
      expect(stat.blocks * 512).toBeLessThan(4 * MEBIBYTE);
    },
  },
];

/** Bytes that do not compress, the same on every run. */
function noise(bytes: number, seed: number): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes; at += 64) {
    blocks.push(createHash('sha512').update(`${seed} ${at}`).digest());
  }
  return Buffer.concat(blocks).subarray(0, bytes);
}

const caps = (part: number, untracked: number, file = 64 * MEBIBYTE) => ({
  part_bytes_max: part,
  untracked_bytes_max: untracked,
  file_bytes_max: file,
  unpacked_bytes_max: 1024 * MEBIBYTE,
});

export const sizeCases: Case[] = [
  {
    name: 'huge_patch',
    build: (scene) => {
      append(scene, 'a.txt', 'small edit\n');
      write(scene, 'data.bin', noise(3 * MEBIBYTE, 1));
      write(scene, 'b.txt', noise(600_000, 2));
      commit(scene, 'committed history stays');
      write(scene, 'data.bin', noise(4 * MEBIBYTE, 3));
      append(scene, 'c.txt', 'small edit\n');
      write(scene, 'staged.bin', noise(200_000, 4));
      git(scene, ['add', 'staged.bin']);
    },
    request: { caps: caps(5 * MEBIBYTE, MEBIBYTE) },
    named: [/data\.bin.*part_cap/],
    lossesAllowed: /data\.bin/,
    adjust: (seen) => {
      delete seen.files['data.bin'];
      seen.status = seen.status.filter((line) => !line.endsWith(' data.bin'));
    },
    check: (scene, { captured, restored }) => {
      expect(captured.complete).toBe(false);
      expect(restored.continuity.unstaged.state).toBe('partly');
      expect(statSync(join(scene.work, 'data.bin')).size).toBe(3 * MEBIBYTE);
      const bundle = captured.parts.find((part) => part.name === 'repo.bundle');
      expect(bundle?.size).toBeLessThan(5 * MEBIBYTE);
    },
  },
  {
    name: 'huge_untracked',
    build: (scene) => {
      write(scene, 'huge.bin', noise(3 * MEBIBYTE, 5));
      write(scene, 'large.bin', noise(700_000, 6));
      write(scene, 'text.log.txt', 'the same line again and again\n'.repeat(60_000));
      for (let number = 0; number < 20; number++) write(scene, `small/${number}`, `${number}\n`);
    },
    request: { caps: caps(100 * MEBIBYTE, MEBIBYTE) },
    named: [/huge\.bin.*untracked_cap/],
    lossesAllowed: /huge\.bin/,
    adjust: (seen) => {
      delete seen.files['huge.bin'];
      seen.status = seen.status.filter((line) => !line.endsWith('huge.bin'));
    },
    check: (_, { captured, restored }) => {
      expect(captured.complete).toBe(false);
      expect(captured.skipped).toHaveLength(1);
      expect(restored.continuity.untracked).toMatchObject({ state: 'partly' });
    },
  },
  {
    name: 'many_files',
    build: (scene) => {
      for (let number = 0; number < 3000; number++) {
        write(scene, `many/${number % 50}/${number}.txt`, `${number}\n`);
      }
      git(scene, ['add', 'many/1', 'many/2']);
      commit(scene, 'some of them are tracked');
      for (let number = 0; number < 300; number++) write(scene, `later/${number}`, 'x\n');
    },
  },
];

export const concurrentCases: Case[] = [
  {
    name: 'commit_during',
    build: (scene) => {
      append(scene, 'a.txt', 'edit\n');
      current = scene;
      committed = false;
    },
    hooks: {
      onPhase: (phase) => {
        if (phase !== 'read' || committed || !current) return;
        committed = true;
        append(current, 'b.txt', 'while captured\n');
        commit(current, 'landed during the capture');
      },
    },
    gitDirectoryChanges: true,
    withoutComparison: true,
    check: (scene, { captured }) => {
      // The second attempt saw the commit: one moment, no mixture, no warning.
      expect(captured.warnings).toEqual([]);
      expect(git(scene, ['log', '-1', '--format=%s'])).toBe('landed during the capture');
      expect(git(scene, ['status', '--porcelain'])).toBe('');
    },
  },
  {
    name: 'file_grows_during',
    build: (scene) => {
      write(scene, 'growing.txt', noise(MEBIBYTE, 7));
      append(scene, 'a.txt', 'edit\n');
      const path = join(scene.work, 'growing.txt');
      const writer = spawn('sh', ['-c', `while :; do echo more >> '${path}'; done`]);
      const ended = new Promise<void>((resolve) => writer.on('exit', () => resolve()));
      scene.closers.push(async () => {
        writer.kill('SIGKILL');
        await ended;
      });
    },
    withoutComparison: true,
    check: (scene) => {
      expect(statSync(join(scene.work, 'growing.txt')).size).toBeGreaterThanOrEqual(MEBIBYTE);
      expect(git(scene, ['status', '--porcelain'])).toBe(' M a.txt\n?? growing.txt');
    },
  },
];

let current: Scene | undefined;
let committed = false;
