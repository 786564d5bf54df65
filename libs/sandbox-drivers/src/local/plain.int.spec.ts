import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeSandboxDriver, newSpec, until } from '../testing/index.ts';
import { openLocalDriver } from '../testing/local-driver-factory.ts';
import { createLocalDriver } from './index.ts';
import { listProcesses } from './process-table.ts';

describeSandboxDriver('local with plain processes', () => openLocalDriver('none'));

describe('plain processes', () => {
  let local: Awaited<ReturnType<typeof openLocalDriver>>;
  beforeAll(async () => {
    local = await openLocalDriver('none');
  });
  afterAll(async () => {
    for (const { id } of await local.driver.list()) await local.driver.destroy(id);
    await local.driver.close();
    await local.close();
  });
  const pathsOf = async (id: string) => {
    const status = await local.driver.get(id);
    if (status?.phase !== 'ready') throw new Error('not ready');
    return status.paths;
  };

  it('are no isolation, and the probe says so, why, and what to do', async () => {
    const { capabilities, problems } = await local.driver.probe();
    expect(capabilities).toMatchObject({ isolation: 'none', stablePath: false, networkCut: false });
    const problem = problems.find(({ code }) => code === 'no_isolation');
    expect(problem?.text).toContain('without isolation: it was switched off');
    expect(problem?.fix).toContain('HANGAR_LOCAL_ISOLATION');
  });

  it('have the same workspace after a resume, and one sandbox at a time', async () => {
    const first = newSpec();
    const ref = await local.driver.create(first);
    const { workspace } = await pathsOf(first.id);
    await local.driver.files.put(ref, `${workspace}/app/file`, Buffer.from('old'));
    const second = newSpec({ sessionId: first.sessionId });
    await expect(local.driver.create(second)).rejects.toMatchObject({ code: 'conflict' });
    expect(await local.driver.get(second.id)).toBeNull();
    expect((await local.driver.files.stat(ref, `${workspace}/app/file`))?.size).toBe(3);
    await local.driver.destroy(first.id);
    const next = await local.driver.create(second);
    expect((await pathsOf(second.id)).workspace).toBe(workspace);
    expect(await local.driver.files.stat(next, `${workspace}/app`)).toBeNull();
    await local.driver.destroy(second.id);
  });

  it('have a home and an environment of their own, and mounts by their source', async () => {
    process.env.HANGAR_TEST_SECRET = 'of the control plane';
    const mounts = [{ source: '/usr/share', target: '/mnt/share', readOnly: true }];
    const spec = newSpec({ mounts, envVars: { MINE: 'yes' } });
    const ref = await local.driver.create(spec);
    delete process.env.HANGAR_TEST_SECRET;
    const paths = await pathsOf(spec.id);
    expect(paths.mounts).toEqual({ '/mnt/share': '/usr/share' });
    const exec = await local.driver.exec(ref, {
      argv: ['sh', '-c', 'env; cat /proc/$PPID/environ'],
    });
    exec.stderr.resume();
    const printed = await text(exec.stdout);
    expect(printed).toContain(`HOME=${paths.home}\n`);
    expect(printed).toContain('MINE=yes');
    expect(printed).not.toContain('HANGAR_TEST_SECRET');
    await local.driver.destroy(spec.id);
  });

  it('cannot have their network cut off, and say so', async () => {
    const create = local.driver.create(newSpec({ network: 'none' }));
    await expect(create).rejects.toMatchObject({ code: 'invalid' });
  });

  it('destroy reaches what left its group, and what left its environment too', async () => {
    const spec = newSpec();
    const ref = await local.driver.create(spec);
    const script = 'setsid sleep 9101 & setsid env -i sleep 9102 & exit 0';
    const exec = await local.driver.exec(ref, { argv: ['sh', '-c', script] });
    exec.stdout.resume();
    exec.stderr.resume();
    await exec.exit;
    const left = async (): Promise<number> => {
      const commands = await Promise.all(
        (await listProcesses()).map(({ pid }) =>
          readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''),
        ),
      );
      return commands.filter((each) => /^910[12]$/.test(each.split('\0')[1] ?? '')).length;
    };
    await until('both sleep', async () => (await left()) === 2);
    await local.driver.destroy(spec.id);
    expect(await left()).toBe(0);
  });

  it('work under a long path with odd characters', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'hangar-long-'));
    const stateDirectory = join(parent, "it's long ".padEnd(120, 'x'));
    await mkdir(stateDirectory);
    const options = { ...local, stateDirectory, nodeBinary: process.execPath };
    const driver = createLocalDriver({ ...options, isolation: 'none' });
    const spec = newSpec();
    const made = await driver.create(spec);
    const exec = await driver.exec(made, { argv: ['true'] });
    expect(await exec.exit).toEqual({ kind: 'exited', code: 0 });
    await driver.destroy(spec.id);
    await driver.close();
    await rm(parent, { recursive: true });
  });
});
