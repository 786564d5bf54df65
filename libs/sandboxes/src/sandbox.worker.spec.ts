import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import type { FakeExec } from '@hangar/sandbox-drivers/fake';
import { eventually } from '@hangar/testing';
import { ID, createWorkerBench, request, type WorkerBench } from './testing/worker-bench.ts';

async function failure(bench: WorkerBench): Promise<{ phase: string; reason: string }> {
  const event = (await bench.events()).find(({ type }) => type === 'SandboxFailed');
  if (!event) throw new Error('SandboxFailed was not recorded');
  return event.data as { phase: string; reason: string };
}

const listed = async (bench: WorkerBench): Promise<string[]> =>
  (await bench.driver.list()).map(({ id }) => id);

const isSetup = (exec: FakeExec): boolean => exec.argv.length === 3;

describe('a sandbox that is asked for', () => {
  it('is made once, and is ready with its place and its end [X5]', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    await bench.provision();
    const { status, place, expires_at } = await bench.state();
    expect(status).toBe('ready');
    expect(place).toMatchObject({ sandbox_id: ID, cwd: '/workspace/repo' });
    expect(expires_at).toBe('2030-01-01T13:00:00.000Z');
    const [before] = await bench.driver.list();
    await bench.provision({ attempt: 2 });
    const [after] = await bench.driver.list();
    expect(after?.status.ref).toEqual(before?.status.ref);
    expect((await bench.events()).filter(({ type }) => type === 'SandboxReady')).toHaveLength(1);
  });

  it('tells its phases in order [S4]', async () => {
    const bench = await createWorkerBench({ recipe: { setup: ['npm ci'] } });
    await request(bench);
    await bench.provision();
    const phases = (await bench.events()).flatMap(({ type, data }) =>
      type === 'SandboxProgressed' ? [data['phase']] : [],
    );
    expect(phases).toEqual(['harness', 'starting', 'cloning', 'setup']);
  });

  it.each([
    { what: 'a start', has_checkpoint: false, setup: [], files: '' },
    { what: 'a restore', has_checkpoint: true, setup: [], files: 'no-files' },
    { what: 'a restore behind set-up commands', has_checkpoint: true, setup: ['ci'], files: '' },
  ])('for $what has the files that it needs', async ({ has_checkpoint, setup, files }) => {
    const bench = await createWorkerBench({ recipe: { setup } });
    await request(bench, has_checkpoint ? { purpose: 'resume', has_checkpoint } : {});
    const checkouts: (string | undefined)[] = [];
    bench.play.exec = (exec) => {
      if (!isSetup(exec)) checkouts.push(exec.argv.at(-1));
      return {};
    };
    await bench.provision();
    expect(checkouts).toEqual([files]);
  });

  it('is found again by the try after one that was cut', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    const lease = new AbortController();
    bench.play.exec = () => {
      lease.abort(new HangarError('unavailable', 'the service left'));
      return { exit: { kind: 'signalled', signal: 'SIGKILL' } };
    };
    await expect(bench.provision({ signal: lease.signal })).rejects.toThrow('the service left');
    expect((await bench.state()).status).toBe('provisioning');
    const [before] = await bench.driver.list();
    bench.play.exec = () => ({});
    await bench.provision({ attempt: 2 });
    const [after] = await bench.driver.list();
    expect(after?.status.ref).toEqual(before?.status.ref);
    expect((await bench.state()).status).toBe('ready');
  });

  it('that ended while it was started is made anew', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    bench.play.exec = () => {
      bench.driver.vanish(ID);
      return { exit: { kind: 'sandbox_gone' } };
    };
    await expect(bench.provision()).rejects.toMatchObject({ code: 'unavailable' });
    bench.play.exec = () => ({});
    await expect(bench.provision({ attempt: 2 })).rejects.toMatchObject({ code: 'unavailable' });
    await bench.provision({ attempt: 3 });
    expect((await bench.state()).status).toBe('ready');
  });

  it('is waited for while the driver cannot be asked, about a minute, then told [S5]', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    bench.driver.faults.createFails = new HangarError('unavailable', 'no node answers');
    for (let attempt = 1; attempt < 7; attempt += 1)
      await expect(bench.provision({ attempt })).rejects.toThrow('no node answers');
    expect((await bench.state()).status).toBe('provisioning');
    await bench.provision({ attempt: 7 });
    expect(await failure(bench)).toMatchObject({ phase: 'starting', reason: 'no node answers' });
  });

  it('of an environment that nobody defined fails at once, in words', async () => {
    const bench = await createWorkerBench();
    await request(bench, { environment: 'nowhere' });
    await bench.provision();
    expect((await failure(bench)).reason).toBe(
      'there is no environment called nowhere; define it with hangar env apply, then open the session again',
    );
    expect(await listed(bench)).toEqual([]);
  });

  it('of an environment with an image fails at once: no driver runs images yet', async () => {
    const bench = await createWorkerBench({ recipe: { image: 'debian' } });
    await request(bench);
    await bench.provision();
    expect(await failure(bench)).toMatchObject({
      phase: 'image',
      reason: 'the fake driver runs no images: take `image` out of the environment default',
    });
    expect(await listed(bench)).toEqual([]);
  });

  it('goes on when a note of its progress could not be recorded', async () => {
    let fails = 1;
    const bench = await createWorkerBench({
      installHarness: async (_name, log) => {
        log('fetching');
        log('unpacking');
        return '/opt/harness';
      },
    });
    const { execute } = bench.sandboxes;
    bench.sandboxes.execute = (id, command, how) => {
      const isLine = command.type === 'NoteProgress' && command.data.text === 'fetching';
      if (isLine && fails-- > 0) return Promise.reject(new Error('the database went away'));
      return execute(id, command, how);
    };
    await request(bench);
    await bench.provision();
    expect((await bench.state()).status).toBe('ready');
  });
});

describe('a sandbox that is not wanted any more', () => {
  it('leaves nothing when it is destroyed while it is made', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    bench.play.exec = async () => {
      await bench.destroy();
      return {};
    };
    await bench.provision();
    expect((await bench.state()).status).toBe('destroyed');
    expect(await listed(bench)).toEqual([]);
    await bench.provision({ attempt: 2 });
    expect(await listed(bench)).toEqual([]);
  });

  it('leaves nothing when it was destroyed before it was there, and the service died', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    await bench.destroy();
    // The create that was under way ends after the destroy, with nobody to see it.
    await bench.driver.create({
      id: ID,
      sessionId: 'ses-1a2b3c4d',
      cwd: '/workspace',
      envVars: {},
      network: 'open',
      mounts: [],
      resources: {},
    });
    await bench.provision({ attempt: 2 });
    expect(await listed(bench)).toEqual([]);
  });

  it('is not made when it was destroyed before', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    await bench.destroy();
    await bench.provision();
    expect(await listed(bench)).toEqual([]);
  });

  it('is not said to be gone while the driver cannot be asked', async () => {
    const bench = await createWorkerBench();
    await request(bench);
    await bench.provision();
    bench.driver.faults.isUnreachable = true;
    await expect(bench.destroy()).rejects.toMatchObject({ code: 'unavailable' });
    expect((await bench.state()).status).toBe('destroying');
    bench.driver.faults.isUnreachable = false;
    await bench.destroy();
    expect((await bench.state()).status).toBe('destroyed');
    expect(await listed(bench)).toEqual([]);
  });
});

describe('a place for a sandbox [X6]', () => {
  it('is waited for, visibly, with the place in the queue', async () => {
    let ahead = 5;
    const bench = await createWorkerBench({ sandboxesAhead: async () => ahead, activeMax: 4 });
    await request(bench);
    const work = bench.provision();
    await eventually(async () => (await bench.state()).text.includes('number 2 in the queue'));
    expect(await listed(bench)).toEqual([]);
    ahead = 4;
    await eventually(async () => (await bench.state()).text.includes('number 1 in the queue'));
    ahead = 3;
    await work;
    expect((await bench.state()).status).toBe('ready');
  });

  it('is not waited for by one that is not wanted any more', async () => {
    const bench = await createWorkerBench({ sandboxesAhead: async () => 9 });
    await request(bench);
    const work = bench.provision();
    await eventually(async () => (await bench.state()).step === 'queued');
    await bench.destroy();
    await work;
    expect((await bench.state()).status).toBe('destroyed');
  });
});

describe('what a person is told of a start that failed', () => {
  it('is what to do about a harness that nobody can fetch, at once', async () => {
    const bench = await createWorkerBench({
      installHarness: async () => {
        throw new HangarError('not_found', 'it is not installed', { hint: 'Put it there.' });
      },
    });
    await request(bench);
    await bench.provision();
    expect(await failure(bench)).toMatchObject({
      phase: 'harness',
      reason: 'it is not installed; Put it there.',
    });
  });

  it('holds no credential of the repository', async () => {
    const bench = await createWorkerBench();
    bench.play.exec = ({ argv }) => ({
      stderr: `fatal: unable to access '${argv[4]}/': 403`,
      exit: { kind: 'exited', code: 128 },
    });
    await request(bench);
    await bench.provision();
    const { phase, reason } = await failure(bench);
    expect(phase).toBe('cloning');
    expect(reason).toContain("unable to access 'https://example.org/repo.git/'");
    const all = JSON.stringify((await bench.events()).slice(1));
    for (const secret of ['s3cr3t', 'p4ss', 'ada:']) expect(all).not.toContain(secret);
    expect(await listed(bench)).toEqual([]);
  });

  it('is the branch that is missing, or the time that was not enough', async () => {
    const missing = await createWorkerBench();
    missing.play.exec = () => ({ exit: { kind: 'exited', code: 3 } });
    await request(missing);
    await missing.provision();
    expect((await failure(missing)).reason).toBe('https://example.org/repo.git has no branch main');
    const late = await createWorkerBench();
    late.play.exec = () => ({ exit: { kind: 'timed_out' } });
    await request(late);
    await late.provision();
    expect((await failure(late)).reason).toContain('within 10 minutes');
  });

  it('is which set-up command failed and its last words, without secrets [Z2]', async () => {
    const bench = await createWorkerBench({
      recipe: { setup: ['npm ci', 'make'], secrets: ['NPM_TOKEN'] },
      revealSecrets: async () => ({ NPM_TOKEN: 'tok-12345678' }),
    });
    bench.play.exec = (exec) => {
      if (!isSetup(exec) || exec.argv[2] !== 'make') return {};
      expect(exec.envVars['NPM_TOKEN']).toBe('tok-12345678');
      return {
        stdout: `${'.'.repeat(100_000)}\u0000401 for tok-12345678`,
        exit: { kind: 'exited', code: 2 },
      };
    };
    await request(bench);
    await bench.provision();
    const { phase, reason } = await failure(bench);
    expect(phase).toBe('setup');
    expect(reason).toMatch(/^setup command 2 failed \(exit code 2\): /);
    expect(reason).toContain('401 for [redacted NPM_TOKEN]');
    expect(reason.length).toBeLessThan(2_100);
    expect(reason).not.toContain('\0');
  });
});
