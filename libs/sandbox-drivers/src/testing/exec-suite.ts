import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { until, type SuiteContext } from './suite-context.ts';

/** Bytes of the large transfers: enough to show a buffer without a bound. */
export const LARGE_BYTES = 100 * 1024 * 1024;
/** Time for LARGE_BYTES through everything on a busy machine. */
export const LARGE_MS = 120_000;
/** What the process may grow by while a slow reader holds up LARGE_BYTES. */
export const GROWTH_BYTES_MAX = 60 * 1024 * 1024;

/** `bytes` of repeated random blocks, made as they are read. */
export const largeSource = (bytes: number): { source: Readable; sha256: () => string } => {
  const block = randomBytes(64 * 1024);
  const hash = createHash('sha256');
  let left = bytes;
  const source = new Readable({
    read() {
      if (left === 0) return void this.push(null);
      const chunk = block.subarray(0, Math.min(block.length, left));
      left -= chunk.length;
      hash.update(chunk);
      this.push(chunk);
    },
  });
  return { source, sha256: () => hash.digest('hex') };
};

export const describeExec = (context: SuiteContext): void => {
  describe('exec', () => {
    it('gives exit codes', async () => {
      for (const code of [0, 1, 42, 126, 137, 255]) {
        expect((await context.sh(`exit ${code}`)).exit).toEqual({ kind: 'exited', code });
      }
    });

    it('keeps stdout and stderr apart', async () => {
      const { out, err } = await context.sh('echo one; echo two >&2');
      expect({ out, err }).toEqual({ out: 'one\n', err: 'two\n' });
    });

    it('names the signal that ended a process', async () => {
      const { exit } = await context.sh('kill -TERM $$');
      expect(exit).toEqual({ kind: 'signalled', signal: 'SIGTERM' });
    });

    it('tells a missing program and a missing directory from an exit code', async () => {
      const missing = await context.driver.exec(context.ref, { argv: ['no-such-program'] });
      expect(await missing.exit).toMatchObject({ kind: 'not_started' });
      const nowhere = await context.driver.exec(context.ref, { argv: ['true'], cwd: '/nowhere' });
      expect(await nowhere.exit).toMatchObject({ kind: 'not_started' });
      expect(await text(nowhere.stdout)).toBe('');
    });

    it('sets environment variables and the directory', async () => {
      const cwd = await context.workspace();
      const { out } = await context.sh('echo "$GREETING"; pwd', {
        envVars: { GREETING: 'a b' },
        cwd,
      });
      expect(out).toBe(`a b\n${cwd}\n`);
    });

    it('gives the end of stdin to the process', async () => {
      const { out } = await context.sh('wc -c', { stdin: Buffer.from('12345') });
      expect(out.trim()).toBe('5');
      expect((await context.sh('wc -c')).out.trim()).toBe('0');
    });

    it('talks with a process for as long as its stdin is open', async () => {
      const stdin = new PassThrough();
      const exec = await context.driver.exec(context.ref, { argv: ['cat'], stdin });
      for (const line of ['one\n', 'two\n']) {
        stdin.write(line);
        expect(String((await once(exec.stdout, 'data'))[0])).toBe(line);
      }
      stdin.end();
      expect(await text(exec.stderr)).toBe('');
      expect(await exec.exit).toEqual({ kind: 'exited', code: 0 });
    });

    it('is not held up by a process that does not read its stdin', async () => {
      const { source } = largeSource(1024 * 1024);
      const { exit } = await context.sh('exec 0<&-; exit 3', { stdin: source });
      expect(exit).toEqual({ kind: 'exited', code: 3 });
    });

    it('ends with the process, not with a child that keeps its output open', async () => {
      const { out, exit } = await context.sh('echo done; sleep 300 & exit 5');
      expect({ out, exit }).toEqual({ out: 'done\n', exit: { kind: 'exited', code: 5 } });
      await context.sh('pkill -f "sleep 300"');
    });

    it('delivers everything that was printed before the end', async () => {
      const { out, exit } = await context.sh('seq 1 200000');
      expect(out.length).toBe(1288895);
      expect(exit).toEqual({ kind: 'exited', code: 0 });
    });
  });
  describeExecEnds(context);
  describeExecVolume(context);
};

const describeExecEnds = (context: SuiteContext): void => {
  const countOf = async (name: string): Promise<number> =>
    Number((await context.sh(`pgrep -fc "^sleep ${name}" || true`)).out);

  describe('ends of exec', () => {
    it('kills the tree at its time-out, children in other sessions too', async () => {
      const script = 'setsid sleep 3101 & sleep 3102 & sleep 3103';
      const { exit } = await context.sh(script, { timeoutMs: 300 });
      expect(exit).toEqual({ kind: 'timed_out' });
      await until('no sleep is left', async () => (await countOf('310[123]')) === 0);
    });

    it('kill sends the signal to the group, and SIGKILL reaches the whole tree', async () => {
      const polite = await context.driver.exec(context.ref, {
        argv: ['sh', '-c', 'trap "echo bye; exit 9" INT; echo up; while :; do sleep 0.05; done'],
      });
      const lines = polite.stdout[Symbol.asyncIterator]();
      expect(String((await lines.next()).value)).toBe('up\n');
      await polite.kill('SIGINT');
      expect(String((await lines.next()).value)).toBe('bye\n');
      expect((await lines.next()).done).toBe(true);
      expect(await polite.exit).toEqual({ kind: 'exited', code: 9 });

      const argv = ['sh', '-c', 'setsid sleep 3201 & sleep 3202'];
      const stubborn = await context.driver.exec(context.ref, { argv });
      await until('both sleep', async () => (await countOf('320[12]')) === 2);
      await stubborn.kill('SIGKILL');
      expect(await stubborn.exit).toMatchObject({ kind: 'signalled', signal: 'SIGKILL' });
      expect(await countOf('320[12]')).toBe(0);
    });

    it('an aborted exec is killed', async () => {
      const aborter = new AbortController();
      const exec = await context.driver.exec(context.ref, {
        argv: ['sleep', '3301'],
        signal: aborter.signal,
      });
      aborter.abort();
      expect(await exec.exit).toMatchObject({ kind: 'signalled', signal: 'SIGKILL' });
    });

    it('resolves when a reader is destroyed', async () => {
      const exec = await context.driver.exec(context.ref, {
        argv: ['sh', '-c', 'seq 1 1000000; exit 4'],
      });
      exec.stdout.destroy();
      expect(await exec.exit).toEqual({ kind: 'exited', code: 4 });
    });
  });
};

const describeExecVolume = (context: SuiteContext): void => {
  describe('large exec streams', () => {
    it(
      '100 MB of stdin arrive whole',
      async () => {
        const { source, sha256 } = largeSource(LARGE_BYTES);
        const { out, exit } = await context.sh('sha256sum', { stdin: source });
        expect(exit).toEqual({ kind: 'exited', code: 0 });
        expect(out.split(' ')[0]).toBe(sha256());
      },
      LARGE_MS,
    );

    it(
      '100 MB of stdout wait for a slow reader and do not fill the memory',
      async () => {
        const before = process.memoryUsage().rss;
        const argv = ['head', '-c', String(LARGE_BYTES), '/dev/zero'];
        const exec = await context.driver.exec(context.ref, { argv });
        const hash = createHash('sha256');
        let bytes = 0;
        let chunks = 0;
        let grown = 0;
        for await (const chunk of exec.stdout) {
          bytes += (chunk as Buffer).length;
          hash.update(chunk as Buffer);
          // Slow at first, when a buffer without a bound would take everything at once.
          if (++chunks <= 20) await new Promise((resolve) => setTimeout(resolve, 25));
          if (chunks === 20) grown = process.memoryUsage().rss - before;
        }
        expect(bytes).toBe(LARGE_BYTES);
        expect(hash.digest('hex')).toBe(
          createHash('sha256').update(Buffer.alloc(LARGE_BYTES)).digest('hex'),
        );
        expect(grown).toBeLessThan(GROWTH_BYTES_MAX);
        expect(await exec.exit).toEqual({ kind: 'exited', code: 0 });
      },
      LARGE_MS,
    );

    it('a stalled stream does not hold up another one', async () => {
      const argv = ['sh', '-c', 'cat /dev/zero'];
      const stalled = await context.driver.exec(context.ref, { argv });
      for (let index = 0; index < 10; index++) {
        expect((await context.sh(`echo ${index}`)).out).toBe(`${index}\n`);
      }
      const other = await context.sh('head -c 5000000 /dev/zero | wc -c');
      expect(other.out.trim()).toBe('5000000');
      stalled.stdout.destroy();
      await stalled.kill('SIGKILL');
      expect(await stalled.exit).toMatchObject({ kind: 'signalled' });
    });
  });
};
