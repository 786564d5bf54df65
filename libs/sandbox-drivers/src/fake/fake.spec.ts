import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { describeSandboxDriver, newSpec } from '../testing/index.ts';
import { createFakeDriver } from './index.ts';

describeSandboxDriver(
  'fake',
  () => Promise.resolve({ driver: createFakeDriver(), close: () => Promise.resolve() }),
  { processes: false },
);

describe('scripts and faults of the fake', () => {
  it('plays commands, which can see files and stdin', async () => {
    const driver = createFakeDriver({
      exec: ({ argv, stdin }) => ({
        stdout: `${argv.join(' ')}: ${stdin.toString()}`,
        exit: { kind: 'exited', code: argv[0] === 'false' ? 1 : 0 },
      }),
    });
    const ref = await driver.create(newSpec());
    const exec = await driver.exec(ref, { argv: ['false', 'x'], stdin: Buffer.from('in') });
    expect(await text(exec.stdout)).toBe('false x: in');
    expect(await exec.exit).toEqual({ kind: 'exited', code: 1 });
    expect(driver.execs.map(({ argv }) => argv)).toEqual([['false', 'x']]);
  });

  it('plays runs: output by offset, input once per key, end', async () => {
    const driver = createFakeDriver({
      run: (run) => {
        run.print('hello\n');
        run.onInput(({ chunk }) => {
          if (chunk === 'eof') run.exit({ kind: 'exited', code: 3 });
          else run.print(`heard ${chunk.toString()}`);
        });
      },
    });
    const ref = await driver.create(newSpec());
    await driver.runs.start(ref, 'run-1', { argv: ['agent'], cwd: '/workspace', envVars: {} });
    const run = await driver.runs.follow(ref, 'run-1', { out: 6, err: 0 });
    await driver.runs.input(ref, 'run-1', 'a', Buffer.from('you\n'));
    await driver.runs.input(ref, 'run-1', 'a', Buffer.from('you\n'));
    expect(await driver.runs.status(ref, 'run-1')).toMatchObject({ state: 'running' });
    await driver.runs.input(ref, 'run-1', 'b', 'eof');
    expect(await text(run.stdout)).toBe('heard you\n');
    expect(await run.exit).toEqual({ kind: 'exited', code: 3 });
    expect(await driver.runs.status(ref, 'run-2')).toEqual({ state: 'unknown' });
  });

  it('unreachable is an error, and vanished is a state', async () => {
    const driver = createFakeDriver({ run: (run) => run.print('up') });
    const spec = newSpec();
    const ref = await driver.create(spec);
    await driver.runs.start(ref, 'run-1', { argv: ['agent'], cwd: '/', envVars: {} });
    const run = await driver.runs.follow(ref, 'run-1', { out: 0, err: 0 });
    driver.faults.isUnreachable = true;
    await expect(driver.get(spec.id)).rejects.toMatchObject({ code: 'unavailable' });
    driver.faults.isUnreachable = false;
    driver.vanish(spec.id);
    expect(await text(run.stdout)).toBe('up');
    expect(await run.exit).toEqual({ kind: 'sandbox_gone' });
    expect((await driver.get(spec.id))?.phase).toBe('stopped');
    const exec = await driver.exec(ref, { argv: ['true'] });
    expect(await exec.exit).toEqual({ kind: 'sandbox_gone' });
  });
});
