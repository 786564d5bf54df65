import { spawn } from 'node:child_process';
import { readFile, writeFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSpec, until } from '../testing/index.ts';
import { openLocalDriver } from '../testing/local-driver-factory.ts';
import { createLocalDriver } from './index.ts';
import { hasMarker, listProcesses, readProcess } from './process-table.ts';
import { sandboxMark, type SandboxRecord } from './record.ts';

describe('records of the local driver', () => {
  let local: Awaited<ReturnType<typeof openLocalDriver>>;
  beforeAll(async () => {
    local = await openLocalDriver('auto');
  });
  afterAll(async () => {
    for (const { id } of await local.driver.list()) await local.driver.destroy(id);
    await local.driver.close();
    await local.close();
  });
  const directoryOf = (id: string): string => join(local.stateDirectory, 'sandboxes', id);
  const recordOf = (id: string): string => join(directoryOf(id), 'record.json');
  const editRecord = async (id: string, change: Partial<SandboxRecord>): Promise<void> => {
    const record = JSON.parse(await readFile(recordOf(id), 'utf8')) as SandboxRecord;
    await writeFile(recordOf(id), JSON.stringify({ ...record, ...change }));
  };
  const initOf = async (id: string): Promise<number> =>
    (JSON.parse(await readFile(recordOf(id), 'utf8')) as SandboxRecord).init!.pid;
  const processesOf = async (id: string): Promise<number[]> => {
    const all = await listProcesses();
    const mark = sandboxMark(local.stateDirectory, id);
    const marks = await Promise.all(all.map(({ pid }) => hasMarker(pid, 'HANGAR_SANDBOX', mark)));
    return all.filter((_, index) => marks[index]).map(({ pid }) => pid);
  };

  it('a sandbox that vanishes ends what was under way and is stopped', async () => {
    const spec = newSpec();
    const ref = await local.driver.create(spec);
    const exec = await local.driver.exec(ref, { argv: ['sleep', '6001'] });
    const argv = ['sleep', '6002'];
    await local.driver.runs.start(ref, 'run-1', { argv, cwd: '/workspace', envVars: {} });
    const run = await local.driver.runs.follow(ref, 'run-1', { out: 0, err: 0 });
    process.kill(await initOf(spec.id), 'SIGKILL');
    expect(await exec.exit).toEqual({ kind: 'sandbox_gone' });
    expect(await run.exit).toEqual({ kind: 'sandbox_gone' });
    expect(await local.driver.get(spec.id)).toMatchObject({ phase: 'stopped', ref });
    const late = await local.driver.exec(ref, { argv: ['true'] });
    expect(await late.exit).toEqual({ kind: 'sandbox_gone' });
    await expect(local.driver.create(spec)).rejects.toMatchObject({ code: 'conflict' });
    await local.driver.destroy(spec.id);
    expect(await local.driver.get(spec.id)).toBeNull();
  });

  it('killing the monitor of bubblewrap takes nothing away', async () => {
    const spec = newSpec();
    const ref = await local.driver.create(spec);
    const record = JSON.parse(await readFile(recordOf(spec.id), 'utf8')) as SandboxRecord;
    process.kill(record.launcher!.pid, 'SIGKILL');
    const exec = await local.driver.exec(ref, { argv: ['true'] });
    expect(await exec.exit).toEqual({ kind: 'exited', code: 0 });
    await local.driver.destroy(spec.id);
    expect(await processesOf(spec.id)).toEqual([]);
  });

  it('destroy leaves no process, file, group or user behind', async () => {
    const spec = newSpec();
    const ref = await local.driver.create(spec);
    const script = 'mkdir -p ~/a/b; chmod 500 ~/a; setsid env -i sleep 6101 & sleep 6102 & exit 0';
    const exec = await local.driver.exec(ref, { argv: ['sh', '-c', script] });
    exec.stdout.resume();
    exec.stderr.resume();
    await exec.exit;
    const { cgroups } = JSON.parse(await readFile(recordOf(spec.id), 'utf8')) as SandboxRecord;
    await local.driver.destroy(spec.id);
    const commands = await Promise.all(
      (await listProcesses()).map(({ pid }) =>
        readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''),
      ),
    );
    expect(commands.filter((command) => /^610[12]$/.test(command.split('\0')[1] ?? ''))).toEqual(
      [],
    );
    await expect(readdir(directoryOf(spec.id))).rejects.toMatchObject({ code: 'ENOENT' });
    for (const cgroup of cgroups) {
      await expect(readdir(cgroup)).rejects.toMatchObject({ code: 'ENOENT' });
    }
    const uids = await readdir(join(local.stateDirectory, 'uids')).catch(() => []);
    const owners = await Promise.all(
      uids.map((uid) => readFile(join(local.stateDirectory, 'uids', uid), 'utf8')),
    );
    expect(owners).not.toContain(spec.id);
  });

  it('an unreadable record is shown as stopped, and can be destroyed with what runs', async () => {
    const spec = newSpec();
    const ref = await local.driver.create(spec);
    const { cgroups } = JSON.parse(await readFile(recordOf(spec.id), 'utf8')) as SandboxRecord;
    await writeFile(recordOf(spec.id), '{"version":1,"id":');
    expect(await local.driver.get(spec.id)).toMatchObject({
      phase: 'stopped',
      reason: 'its record cannot be read',
    });
    expect((await local.driver.list()).map(({ id }) => id)).toContain(spec.id);
    // The open connection is still good; one that must ask the record does not call it gone.
    const other = createLocalDriver({ ...local, nodeBinary: process.execPath });
    const exec = other.exec(ref, { argv: ['true'] });
    await expect(exec).rejects.toMatchObject({ code: 'unavailable' });
    await other.close();
    await local.driver.destroy(spec.id);
    expect(await processesOf(spec.id)).toEqual([]);
    expect(await local.driver.get(spec.id)).toBeNull();
    for (const cgroup of cgroups) {
      await expect(readdir(cgroup)).rejects.toMatchObject({ code: 'ENOENT' });
    }
  });

  it('after a restart of the machine records are found and stopped', async () => {
    const spec = newSpec();
    await local.driver.create(spec);
    const init = await initOf(spec.id);
    await editRecord(spec.id, { bootId: 'another boot' });
    expect(await local.driver.get(spec.id)).toMatchObject({
      phase: 'stopped',
      reason: 'this machine was restarted',
    });
    process.kill(init, 'SIGKILL');
    await until('it has ended', async () => (await readProcess(init)) === null);
    await local.driver.destroy(spec.id);
    expect(await local.driver.get(spec.id)).toBeNull();
  });

  it('a pid that was used again is neither taken for the sandbox nor killed', async () => {
    const spec = newSpec();
    await local.driver.create(spec);
    process.kill(await initOf(spec.id), 'SIGKILL');
    const bystander = spawn('sleep', ['6201'], { stdio: 'ignore' });
    const identity = { pid: bystander.pid!, startTicks: 1 };
    await editRecord(spec.id, { init: identity, launcher: identity });
    expect((await local.driver.get(spec.id))?.phase).toBe('stopped');
    await local.driver.destroy(spec.id);
    expect(bystander.exitCode).toBeNull();
    expect((await readProcess(bystander.pid!))?.state).toBe('S');
    bystander.kill('SIGKILL');
  });

  it('two drivers that create the same sandbox at once make one', async () => {
    const spec = newSpec();
    const other = createLocalDriver({ ...local, nodeBinary: process.execPath });
    const [one, two] = await Promise.all([local.driver.create(spec), other.create(spec)]);
    expect(one).toEqual(two);
    await local.driver.destroy(spec.id);
    await other.close();
  });

  it('a sandbox of the same id in another state directory is another one', async () => {
    const elsewhere = await openLocalDriver('auto');
    const spec = newSpec();
    const [ref, other] = [await local.driver.create(spec), await elsewhere.driver.create(spec)];
    const isUp = async ({ driver }: typeof local, at: typeof ref): Promise<unknown> =>
      (await driver.exec(at, { argv: ['true'] })).exit;
    await elsewhere.driver.destroy(spec.id);
    expect(await isUp(local, ref)).toEqual({ kind: 'exited', code: 0 });
    expect(await isUp(elsewhere, other)).toEqual({ kind: 'sandbox_gone' });
    const { cgroups } = JSON.parse(await readFile(recordOf(spec.id), 'utf8')) as SandboxRecord;
    expect(await Promise.all(cgroups.map((cgroup) => readdir(cgroup)))).toHaveLength(
      cgroups.length,
    );
    await local.driver.destroy(spec.id);
    await elsewhere.driver.close();
    await elsewhere.close();
  });

  it('a creation that was cut off is taken over', async () => {
    const spec = newSpec();
    await local.driver.create(spec);
    await editRecord(spec.id, { phase: 'creating', creator: { pid: 1, startTicks: 1 } });
    expect((await local.driver.get(spec.id))?.phase).toBe('stopped');
    const ref = await local.driver.create(spec);
    const exec = await local.driver.exec(ref, { argv: ['true'] });
    expect(await exec.exit).toEqual({ kind: 'exited', code: 0 });
    await local.driver.destroy(spec.id);
  });

  it('one that is being made is not there yet, and a destroy ends its making', async () => {
    const spec = newSpec();
    const made = local.driver.create(spec);
    await until('the record is there', async () =>
      readFile(recordOf(spec.id)).then(
        () => true,
        () => false,
      ),
    );
    expect((await local.driver.get(spec.id))?.phase).not.toBe('stopped');
    await Promise.all([
      local.driver.destroy(spec.id),
      made.then(
        () => undefined,
        () => undefined,
      ),
    ]);
    expect(await local.driver.get(spec.id)).toBeNull();
    expect(await processesOf(spec.id)).toEqual([]);
  });

  it('an aborted creation leaves nothing', async () => {
    const spec = newSpec();
    const aborter = new AbortController();
    const made = local.driver.create(spec, aborter.signal);
    aborter.abort(new Error('changed my mind'));
    await expect(made).rejects.toThrow('changed my mind');
    expect(await local.driver.get(spec.id)).toBeNull();
  });

  it('a directory without a record can be destroyed and made again', async () => {
    const spec = newSpec();
    await mkdir(join(directoryOf(spec.id), 'disk'), { recursive: true });
    expect((await local.driver.get(spec.id))?.phase).toBe('stopped');
    await local.driver.create(spec);
    expect((await local.driver.get(spec.id))?.phase).toBe('ready');
    await local.driver.destroy(spec.id);
  });
});
