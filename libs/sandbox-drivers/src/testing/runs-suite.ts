import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { RunRequest } from '../sandbox-driver.ts';
import { until, type SuiteContext } from './suite-context.ts';

let nextRun = 0;
const newRunId = (): string => `run-${(nextRun++).toString(16).padStart(8, '0')}`;

export const describeRuns = (context: SuiteContext): void => {
  const start = async (script: string, changes: Partial<RunRequest> = {}): Promise<string> => {
    const id = newRunId();
    const cwd = await context.workspace();
    const argv = ['sh', '-c', script];
    await context.driver.runs.start(context.ref, id, { argv, cwd, envVars: {}, ...changes });
    return id;
  };
  const follow = async (id: string, from = { out: 0, err: 0 }) => {
    const run = await context.driver.runs.follow(context.ref, id, from);
    const [out, err] = await Promise.all([text(run.stdout), text(run.stderr)]);
    return { out, err, exit: await run.exit };
  };
  const status = (id: string) => context.driver.runs.status(context.ref, id);
  const countOf = async (name: string): Promise<number> =>
    Number((await context.sh(`pgrep -fc "^sleep ${name}" || true`)).out);

  describe('runs', () => {
    it('gives output, environment and exit code', async () => {
      const id = await start('echo $NAME; echo bad >&2; exit 7', { envVars: { NAME: 'n' } });
      expect(await follow(id)).toEqual({
        out: 'n\n',
        err: 'bad\n',
        exit: { kind: 'exited', code: 7 },
      });
    });

    it('an ended run can be followed again, from any byte', async () => {
      const id = await start('printf 0123456789; exit 0');
      await follow(id);
      expect((await follow(id, { out: 4, err: 0 })).out).toBe('456789');
      expect((await follow(id, { out: 10, err: 0 })).out).toBe('');
      expect(await status(id)).toEqual({
        state: 'exited',
        exit: { kind: 'exited', code: 0 },
        outBytes: 10,
        errBytes: 0,
      });
    });

    it('an unknown run has a state, and cannot be followed', async () => {
      expect(await status('run-never')).toEqual({ state: 'unknown' });
      await expect(follow('run-never')).rejects.toMatchObject({ code: 'not_found' });
    });

    it('a second start with the same id is quiet, also at the same time', async () => {
      const id = newRunId();
      const cwd = await context.workspace();
      const run = { argv: ['sh', '-c', 'echo once'], cwd, envVars: {} };
      await Promise.all([1, 2, 3].map(() => context.driver.runs.start(context.ref, id, run)));
      await context.driver.runs.start(context.ref, id, run);
      expect((await follow(id)).out).toBe('once\n');
    });

    it('what cannot be started is an exit, not an exit code', async () => {
      const cwd = await context.workspace();
      const id = newRunId();
      const run = { argv: ['no-such-program'], cwd, envVars: {} };
      await context.driver.runs.start(context.ref, id, run);
      expect((await follow(id)).exit).toMatchObject({ kind: 'not_started' });
      expect((await follow(await start('true', { cwd: '/nowhere' }))).exit).toMatchObject({
        kind: 'not_started',
      });
    });

    it('output arrives as it is written, without a delay that a person notices', async () => {
      const id = await start('read line; echo "$line"; read line; echo "$line"');
      const run = await context.driver.runs.follow(context.ref, id, { out: 0, err: 0 });
      const chunks = run.stdout[Symbol.asyncIterator]();
      const delays: number[] = [];
      for (const key of ['a', 'b']) {
        const said = performance.now();
        await context.driver.runs.input(context.ref, id, key, Buffer.from(`${key}\n`));
        expect(String((await chunks.next()).value)).toBe(`${key}\n`);
        delays.push(performance.now() - said);
      }
      run.stderr.resume();
      expect((await chunks.next()).done).toBe(true);
      expect(await run.exit).toEqual({ kind: 'exited', code: 0 });
      expect(Math.min(...delays)).toBeLessThan(50);
    });

    it('several can follow the same run, and one that gives up disturbs nobody', async () => {
      const id = await start('echo up; read line; echo "$line"');
      const aborter = new AbortController();
      const quitter = await context.driver.runs.follow(
        context.ref,
        id,
        { out: 0, err: 0 },
        aborter.signal,
      );
      const others = [follow(id), follow(id)];
      aborter.abort();
      await quitter.exit;
      await context.driver.runs.input(context.ref, id, 'k', Buffer.from('go\n'));
      for (const other of await Promise.all(others)) expect(other.out).toBe('up\ngo\n');
    });

    it('a slow follower loses nothing of a large output', async () => {
      const id = await start('seq 1 1000000');
      const run = await context.driver.runs.follow(context.ref, id, { out: 0, err: 0 });
      let bytes = 0;
      let chunks = 0;
      for await (const chunk of run.stdout) {
        bytes += (chunk as Buffer).length;
        if (++chunks <= 10) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(bytes).toBe(6888896);
      expect(await run.exit).toEqual({ kind: 'exited', code: 0 });
    });
  });

  describe('input of runs', () => {
    it('is written once per key, in order, and ended by eof', async () => {
      const id = await start('cat', { stdin: Buffer.from('first\n') });
      const say = (key: string, line: string | null): Promise<void> =>
        context.driver.runs.input(context.ref, id, key, line === null ? 'eof' : Buffer.from(line));
      await say('a', 'second\n');
      await say('b', 'third\n');
      await Promise.all([say('a', 'second\n'), say('b', 'third\n'), say('a', 'second\n')]);
      await say('end', null);
      expect(await follow(id)).toMatchObject({
        out: 'first\nsecond\nthird\n',
        exit: { kind: 'exited', code: 0 },
      });
      await say('a', 'second\n');
      await expect(say('c', 'late\n')).rejects.toMatchObject({ code: 'conflict' });
    });

    it('waits for a run that does not read, and then arrives whole', async () => {
      const id = await start('read line; wc -c');
      await context.driver.runs.input(context.ref, id, 'large', Buffer.alloc(3_000_000, 'x'));
      expect(await status(id)).toMatchObject({ state: 'running' });
      await context.driver.runs.input(context.ref, id, 'line', Buffer.from('\n'));
      await context.driver.runs.input(context.ref, id, 'rest', Buffer.alloc(500_000, 'y'));
      await context.driver.runs.input(context.ref, id, 'end', 'eof');
      expect((await follow(id)).out.trim()).toBe('500000');
    });
  });

  describe('ends of runs', () => {
    it('SIGINT and SIGTERM reach the process, which may answer them', async () => {
      const id = await start(
        'trap "echo stopped; exit 3" INT; echo up; while :; do sleep 0.05; done',
      );
      await until('it is up', async () => (await sizeOf(id)) > 0);
      await context.driver.runs.kill(context.ref, id, 'SIGINT');
      expect(await follow(id)).toMatchObject({
        out: 'up\nstopped\n',
        exit: { kind: 'exited', code: 3 },
      });
      const deaf = await start('echo up; exec sleep 4101');
      await until('it is up', async () => (await sizeOf(deaf)) > 0);
      await context.driver.runs.kill(context.ref, deaf, 'SIGTERM');
      expect((await follow(deaf)).exit).toEqual({ kind: 'signalled', signal: 'SIGTERM' });
    });

    it('SIGKILL ends everything that a run left behind, also after its end', async () => {
      const id = await start('setsid sleep 4201 & nohup sleep 4202 & echo up; sleep 4203');
      await until('it is up', async () => (await countOf('420[123]')) === 3);
      await context.driver.runs.kill(context.ref, id, 'SIGKILL');
      expect((await follow(id)).exit).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
      expect(await countOf('420[123]')).toBe(0);

      const ended = await start('setsid sleep 4301 & exit 0');
      await follow(ended);
      await until('it sleeps on', async () => (await countOf('4301')) === 1);
      await context.driver.runs.kill(context.ref, ended, 'SIGKILL');
      expect(await countOf('4301')).toBe(0);
      expect((await status(ended)).state).toBe('exited');
    });

    it('a left-over child that goes on writing does not keep a run open', async () => {
      const id = await start('(while :; do echo noise; sleep 0.01; done) & echo mine; exit 2');
      expect((await follow(id)).exit).toEqual({ kind: 'exited', code: 2 });
      const ended = await status(id);
      await context.driver.runs.kill(context.ref, id, 'SIGKILL');
      expect(await status(id)).toEqual(ended);
    });
  });

  const sizeOf = async (id: string): Promise<number> => {
    const found = await status(id);
    return found.state === 'unknown' ? 0 : found.outBytes;
  };
};
