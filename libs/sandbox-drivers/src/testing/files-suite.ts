import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { GROWTH_BYTES_MAX, LARGE_BYTES, LARGE_MS, largeSource } from './exec-suite.ts';
import { type SuiteContext } from './suite-context.ts';

const hashOf = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

/** What every driver's files do; a fake's too. */
export const describeFiles = (context: SuiteContext): void => {
  describe('files', () => {
    it('puts and gets bytes with their hash, and makes parent directories', async () => {
      const path = `${await context.workspace()}/deep/er/file.bin`;
      const bytes = Buffer.from([0, 1, 2, 255, 10, 13]);
      const put = await context.driver.files.put(context.ref, path, bytes, { mode: 0o600 });
      expect(put).toEqual({ size: 6, sha256: hashOf(bytes) });
      const file = await context.driver.files.get(context.ref, path);
      expect(await buffer(file!.body)).toEqual(bytes);
      expect(await file!.sha256).toBe(hashOf(bytes));
      const stat = await context.driver.files.stat(context.ref, path);
      expect(stat).toMatchObject({ size: 6, mode: 0o600, kind: 'file' });
      const parent = await context.driver.files.stat(context.ref, path.replace('/file.bin', ''));
      expect(parent?.kind).toBe('directory');
    });

    it('takes a stream, replaces a file and holds an empty one', async () => {
      const path = `${await context.workspace()}/replaced`;
      await context.driver.files.put(context.ref, path, Buffer.from('old'));
      const source = Readable.from([Buffer.from('ne'), Buffer.from('w')]);
      await context.driver.files.put(context.ref, path, source);
      expect(String(await context.readFile(path))).toBe('new');
      const empty = await context.driver.files.put(context.ref, path, new Uint8Array());
      expect(empty).toEqual({ size: 0, sha256: hashOf('') });
      expect(await context.readFile(path)).toEqual(Buffer.alloc(0));
    });

    it('reads from an offset', async () => {
      const path = `${await context.workspace()}/offset`;
      await context.driver.files.put(context.ref, path, Buffer.from('0123456789'));
      const file = await context.driver.files.get(context.ref, path, { from: 7 });
      expect(file?.size).toBe(10);
      expect(String(await buffer(file!.body))).toBe('789');
      expect(await file!.sha256).toBe(hashOf('789'));
      const beyond = await context.driver.files.get(context.ref, path, { from: 10 });
      expect(String(await buffer(beyond!.body))).toBe('');
    });

    it('"not there" is null, and removing it is quiet', async () => {
      const path = `${await context.workspace()}/absent`;
      expect(await context.driver.files.get(context.ref, path)).toBeNull();
      expect(await context.driver.files.stat(context.ref, path)).toBeNull();
      await context.driver.files.remove(context.ref, path);
    });

    it('removes a tree', async () => {
      const directory = `${await context.workspace()}/tree`;
      await context.driver.files.put(context.ref, `${directory}/a/b`, Buffer.from('x'));
      await context.driver.files.remove(context.ref, directory);
      expect(await context.driver.files.stat(context.ref, directory)).toBeNull();
    });

    it('refuses a path that is not absolute', async () => {
      const put = context.driver.files.put(context.ref, 'relative', Buffer.from('x'));
      await expect(put).rejects.toMatchObject({ code: 'invalid' });
    });
  });
};

/** What only a driver with a file system can show. */
export const describeFileSystem = (context: SuiteContext): void => {
  describe('files on a real disk', () => {
    it(
      '100 MB in and out keep their hash, and a slow reader does not fill the memory',
      async () => {
        const path = `${await context.workspace()}/large`;
        const { source, sha256 } = largeSource(LARGE_BYTES);
        const put = await context.driver.files.put(context.ref, path, source);
        const expected = sha256();
        expect(put).toEqual({ size: LARGE_BYTES, sha256: expected });
        const inside = await context.sh(`sha256sum < ${path}`);
        expect(inside.out.split(' ')[0]).toBe(expected);

        const before = process.memoryUsage().rss;
        let grown = 0;
        let chunks = 0;
        const hash = createHash('sha256');
        const file = await context.driver.files.get(context.ref, path);
        for await (const chunk of file!.body) {
          hash.update(chunk as Buffer);
          if (++chunks <= 20) await new Promise((resolve) => setTimeout(resolve, 25));
          if (chunks === 20) grown = process.memoryUsage().rss - before;
        }
        expect(hash.digest('hex')).toBe(expected);
        expect(await file!.sha256).toBe(expected);
        expect(grown).toBeLessThan(GROWTH_BYTES_MAX);
      },
      LARGE_MS,
    );

    it('a put whose source fails leaves the old file and nothing else', async () => {
      const directory = `${await context.workspace()}/atomic`;
      const path = `${directory}/file`;
      await context.driver.files.put(context.ref, path, Buffer.from('old'));
      const broken = Readable.from(
        (async function* () {
          yield Buffer.alloc(100_000);
          throw new Error('the source broke');
        })(),
      );
      const put = context.driver.files.put(context.ref, path, broken);
      await expect(put).rejects.toThrow('the source broke');
      expect((await context.sh(`cat ${path}; ls -A ${directory}`)).out).toBe('oldfile\n');
    });

    it('an aborted put is refused and leaves nothing', async () => {
      const path = `${await context.workspace()}/aborted`;
      const aborter = new AbortController();
      const endless = new Readable({
        read() {
          this.push(Buffer.alloc(1000));
          setImmediate(() => aborter.abort(new Error('enough')));
        },
      });
      const put = context.driver.files.put(context.ref, path, endless, { signal: aborter.signal });
      await expect(put).rejects.toThrow('enough');
      expect(await context.driver.files.stat(context.ref, path)).toBeNull();
    });

    it('says what is not a regular file, and does not wait for a FIFO', async () => {
      const path = `${await context.workspace()}/fifo`;
      await context.sh(`mkfifo ${path}`);
      const get = context.driver.files.get(context.ref, path);
      await expect(get).rejects.toMatchObject({ code: 'invalid' });
      expect((await context.driver.files.stat(context.ref, path))?.kind).toBe('other');
    });

    it('refuses to write where the sandbox may not, with a reason', async () => {
      const put = context.driver.files.put(context.ref, '/proc/version', Buffer.from('x'));
      await expect(put).rejects.toMatchObject({ code: expect.stringMatching(/invalid|not_found/) });
    });

    it('removes a tree with read-only directories', async () => {
      const path = `${await context.workspace()}/read-only`;
      await context.sh(`mkdir -p ${path}/a && touch ${path}/a/b && chmod 500 ${path}/a`);
      await context.driver.files.remove(context.ref, path);
      expect(await context.driver.files.stat(context.ref, path)).toBeNull();
    });
  });
};
