import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { ObjectFormat } from './index-table.ts';
import { ObjectPack } from './object-pack.ts';

/** On either side of what one, two and three bytes of a size can say. */
const SIZES = [0, 1, 15, 16, 2047, 2048, 262_143, 262_144];

describe.each(['sha1', 'sha256'] as const)('a pack of %s objects', (format: ObjectFormat) => {
  const withPack = (play: (pack: ObjectPack, root: string) => void): void => {
    const root = mkdtempSync(join(tmpdir(), 'hangar-object-pack-'));
    try {
      execFileSync('git', ['init', '-q', '--bare', `--object-format=${format}`, root]);
      play(new ObjectPack(join(root, 'objects'), format), root);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  };
  const git = (root: string, ...args: string[]): Buffer =>
    execFileSync('git', ['-C', root, ...args], { maxBuffer: 1e8 });

  it('is read by git, object by object, and passes its checks', () =>
    withPack((pack, root) => {
      const bodies = SIZES.map((size) => Buffer.alloc(size, `${size} `));
      const ids = bodies.map((body) => pack.add('blob', body));
      const entries = ids.map((id, number) =>
        Buffer.concat([Buffer.from(`100644 f${number}\0`), Buffer.from(id, 'hex')]),
      );
      const tree = pack.add('tree', Buffer.concat(entries));
      expect(pack.add('blob', bodies[3]!)).toBe(ids[3]);
      pack.flush();
      for (const [number, id] of ids.entries()) {
        expect(git(root, 'cat-file', 'blob', id)).toEqual(bodies[number]);
      }
      expect(git(root, 'ls-tree', tree).toString().split('\n')).toHaveLength(SIZES.length + 1);
      const [index] = readdirSync(join(root, 'objects/pack')).filter((name) =>
        name.endsWith('idx'),
      );
      git(root, 'verify-pack', join(root, 'objects/pack', index!));
      git(root, 'fsck', '--strict');
      // Packing again copies what is stored, by the checksums of the index.
      git(root, 'repack', '-q', '-a', '-d', '--depth=0', '--window=0');
      git(root, 'fsck', '--strict');
    }));

  it('is whole only while it is one and small', () =>
    withPack((pack) => {
      expect(pack.whole(1000)).toBeNull();
      pack.add('blob', Buffer.from('one'));
      const whole = pack.whole(1000);
      expect(whole?.toString('latin1', 0, 4)).toBe('PACK');
      expect(pack.whole(whole!.length - 1)).toBeNull();
      pack.add('blob', Buffer.from('two'));
      expect(pack.whole(1000)).toBeNull();
    }));
});
