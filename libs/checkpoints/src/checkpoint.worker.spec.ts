import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { keysOf, partOf, readBlob, streamOf } from './testing/parts.ts';
import {
  capture,
  createWorkerBench,
  restored,
  type Asked,
  type WorkerBench,
} from './testing/worker-bench.ts';

const typesOf = async (bench: WorkerBench): Promise<string[]> =>
  (await bench.events()).map((event) => event.type);

async function taken(): Promise<WorkerBench> {
  const bench = await createWorkerBench();
  await bench.request();
  await bench.take();
  return bench;
}

describe('taking a checkpoint', () => {
  it('stores its parts, then says so; once, however often it is asked [C3]', async () => {
    const bench = await taken();
    const { complete, parts } = await bench.outcome('CheckpointTaken');
    expect(complete).toBe(true);
    expect(parts.map(({ name }) => name)).toEqual(['wip.patch', 'meta.json']);
    const before = await keysOf(bench.blobs);
    await bench.take({ attempt: 2 });
    expect(await typesOf(bench)).toEqual(['CheckpointRequested', 'CheckpointTaken']);
    expect(await keysOf(bench.blobs)).toEqual(before);
    expect(bench.tool.verbs).toEqual(['capture']);
  });

  it('leaves nothing of it in the sandbox', async () => {
    const bench = await taken();
    const { sandbox_id: id, instance, home } = bench.place;
    expect(await bench.driver.files.stat({ id, instance }, `${home}/.hangar`)).toBeNull();
  });

  it('is skipped where nothing changed since the named one', async () => {
    const bench = await createWorkerBench();
    const fingerprint = 'e'.repeat(64);
    bench.tool.play = async () => ({ unchanged: true, fingerprint });
    const unless = { unless_fingerprint: fingerprint, unless_checkpoint_id: 'ckp-1a2b3c4d-9' };
    await bench.request(unless);
    await bench.take();
    expect(await bench.outcome('CheckpointSkipped')).toMatchObject({ same_as: 'ckp-1a2b3c4d-9' });
    expect(await keysOf(bench.blobs)).toEqual([]);
  });

  it('is tried again while the sandbox cannot be asked, then told; no blob is left', async () => {
    const bench = await createWorkerBench();
    await bench.request();
    bench.driver.faults.isUnreachable = true;
    for (const attempt of [1, 2, 3])
      await expect(bench.take({ attempt })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await typesOf(bench)).toEqual(['CheckpointRequested']);
    await bench.take({ attempt: 4 });
    expect(await bench.outcome('CheckpointFailed')).toMatchObject({
      error: 'The fake is unreachable.',
    });
    expect(await keysOf(bench.blobs)).toEqual([]);
  });

  it('fails at once in a sandbox that is gone', async () => {
    const bench = await createWorkerBench();
    await bench.request();
    bench.driver.vanish(bench.place.sandbox_id);
    await bench.take();
    expect(await bench.outcome('CheckpointFailed')).toMatchObject({ error: 'the sandbox is gone' });
  });

  it('whose lease was lost records nothing, and the next try does [M5]', async () => {
    const bench = await createWorkerBench();
    await bench.request();
    const lease = new AbortController();
    bench.tool.play = async (asked) => {
      const report = await capture(asked);
      lease.abort(new HangarError('unavailable', 'the lease was lost'));
      return report;
    };
    await expect(bench.take({ signal: lease.signal })).rejects.toThrow('the lease was lost');
    expect(await typesOf(bench)).toEqual(['CheckpointRequested']);
    expect((await keysOf(bench.blobs)).some((key) => key.endsWith('manifest.json'))).toBe(false);
    bench.tool.play = async (asked) => capture(asked);
    await bench.take({ attempt: 2 });
    expect(await typesOf(bench)).toContain('CheckpointTaken');
  });

  it.each([
    ['archived', []],
    ['deleted', []],
    // The session goes on, and its next checkpoint may lean on the pack.
    ['late', ['base.pack', 'manifest.json']],
  ])('that was dropped meanwhile (%s) leaves %j [S6]', async (reason, leaves) => {
    const bench = await createWorkerBench();
    await bench.request();
    bench.tool.play = async (asked) => {
      const { checkpoint_id = '', session_id = '' } = asked.request as Record<string, string>;
      const data = { checkpoint_id, session_id, reason };
      await bench.tell({ type: 'DropCheckpoint', data });
      return capture(asked, { parts: { 'base.pack': Buffer.from('pack') } });
    };
    await bench.take();
    expect(await typesOf(bench)).toEqual(['CheckpointRequested', 'CheckpointDropped']);
    const left = await keysOf(bench.blobs);
    expect(left.map((key) => key.split('/').at(-1))).toEqual(leaves);
    expect(left.every((key) => key.includes('/base/'))).toBe(true);
  });

  it('that was dropped while no worker was there is cleaned up by the next try', async () => {
    const bench = await createWorkerBench();
    await bench.request();
    const lease = new AbortController();
    bench.tool.play = async (asked) => {
      const report = await capture(asked);
      const { checkpoint_id = '', session_id = '' } = asked.request as Record<string, string>;
      const data = { checkpoint_id, session_id, reason: 'deleted' };
      await bench.tell({ type: 'DropCheckpoint', data });
      await bench.store.putBase(session_id, checkpoint_id, basePart(), [], base(), signal);
      lease.abort(new HangarError('unavailable', 'the service was killed'));
      return report;
    };
    await expect(bench.take({ signal: lease.signal })).rejects.toThrow('killed');
    expect((await keysOf(bench.blobs)).length).toBeGreaterThan(0);
    await bench.take({ attempt: 2 });
    expect(await keysOf(bench.blobs)).toEqual([]);
  });
});

const signal = new AbortController().signal;
const base = () => streamOf(Buffer.from('pack'));
const basePart = () => partOf('base.pack', Buffer.from('pack'));

describe('a hostile sandbox', () => {
  const huge = 'x'.repeat(33 * 1024 * 1024);
  const skip = { path: 'p'.repeat(10_000), bytes: 1, reason: 'file_cap' };

  it.each<[string, (report: Record<string, unknown>, asked: Asked) => object | Promise<object>]>([
    ['a part outside', (r) => ({ ...r, parts: [{ ...first(r), name: '../../manifest.json' }] })],
    ['a part of another name', (r) => ({ ...r, parts: [{ ...first(r), name: 'manifest.json' }] })],
    ['a part twice', (r) => ({ ...r, parts: [first(r), first(r), ...rest(r)] })],
    ['no meta.json', (r) => ({ ...r, parts: [first(r)] })],
    ['a size below zero', (r) => ({ ...r, parts: [{ ...first(r), size: -1 }, ...rest(r)] })],
    ['a size over the cap', (r) => ({ ...r, parts: [{ ...first(r), size: 1e12 }, ...rest(r)] })],
    ['a size as text', (r) => ({ ...r, parts: [{ ...first(r), size: '19' }, ...rest(r)] })],
    ['a hash that is none', (r) => ({ ...r, parts: [{ ...first(r), sha256: 'x' }, ...rest(r)] })],
    ['another hash', (r) => ({ ...r, parts: [{ ...first(r), sha256: OTHER }, ...rest(r)] })],
    ['another size', (r) => ({ ...r, parts: [{ ...first(r), size: 3 }, ...rest(r)] })],
    ['a part that is not there', (r) => ({ ...r, parts: [...rest(r), gone] })],
    ['parts that are no list', (r) => ({ ...r, parts: { length: 1 } })],
    ['a head that is no id', (r) => ({ ...r, head: '--upload-pack=x' })],
    ['prerequisites without end', (r) => ({ ...r, prerequisites: Array(20_000).fill(OTHER) })],
    ['a complete that is no truth', (r) => ({ ...r, complete: 'yes' })],
    ['no report but a list', () => []],
    ['no report but null', () => ({ stdout: 'null' })],
    ['too much', () => ({ stdout: huge })],
    ['unchanged, though nothing was named', () => ({ unchanged: true, fingerprint: OTHER })],
    ['an error without words', () => ({ error: { code: { a: 1 }, message: [] } })],
    ['a meta.json that is none', (_, a) => capture(a, { meta: { parts: 'all' } })],
    ['a meta.json with a ref of its own', (_, a) => capture(a, { meta: { head_ref: '../x' } })],
  ])('that reports %s makes no checkpoint, and no blob', async (_, change) => {
    const bench = await createWorkerBench();
    await bench.request();
    bench.tool.play = async (asked) => change(await capture(asked), asked);
    await bench.take();
    const { error } = await bench.outcome('CheckpointFailed');
    expect(error.length).toBeLessThan(600);
    expect(await keysOf(bench.blobs)).toEqual([]);
  });

  it('whose error is megabytes of text is told in a few words', async () => {
    const bench = await createWorkerBench();
    await bench.request();
    bench.tool.play = async () => ({ error: { code: 'x'.repeat(1e6), message: 'y'.repeat(1e7) } });
    await bench.take();
    expect((await bench.outcome('CheckpointFailed')).error.endsWith('[cut]')).toBe(true);
  });

  it('with many long paths left out fits into an event, and says how many', async () => {
    const bench = await createWorkerBench();
    await bench.request();
    bench.tool.play = async (asked) => ({
      ...(await capture(asked)),
      complete: false,
      skipped: Array.from({ length: 400 }, () => skip),
      warnings: Array.from({ length: 400 }, () => ({ reason: skip.path })),
    });
    await bench.take();
    const { skipped, warnings } = await bench.outcome('CheckpointTaken');
    expect(skipped).toHaveLength(101);
    expect(skipped.at(-1)?.reason).toBe('300 more paths were left out; see meta.json');
    expect(warnings).toHaveLength(101);
  });

  it('that prints nothing and dies is asked again', async () => {
    const bench = await createWorkerBench();
    await bench.request();
    bench.tool.play = async () => ({
      stdout: '',
      stderr: 'Killed',
      exit: { kind: 'signalled' as const, signal: 'SIGKILL' },
    });
    await expect(bench.take()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Killed'),
    });
  });
});

const OTHER = 'd'.repeat(64);
const partsOf = (report: Record<string, unknown>) => report['parts'] as object[];
const first = (report: Record<string, unknown>): object => partsOf(report)[0] ?? {};
const rest = (report: Record<string, unknown>): object[] => partsOf(report).slice(1);
const gone = { name: 'gitstate', size: 3, sha256: OTHER, codec: 'none' };

describe('restoring a checkpoint', () => {
  async function restorable(): Promise<WorkerBench> {
    const bench = await taken();
    bench.tool.play = async () => restored();
    await bench.requestRestore(2);
    return bench;
  }

  it('brings its parts into the sandbox, and tells what came back [R2]', async () => {
    const bench = await taken();
    let brought = '';
    bench.tool.play = async ({ exec, out }) => {
      const file = exec.files.get(`${out}/wip.patch`);
      brought = file ? (await buffer(file.body)).toString() : '';
      return restored({ losses: [{ path: 'node_modules', reason: 'ignored' }] });
    };
    await bench.requestRestore(2);
    await bench.restore(2);
    expect(brought).toContain('diff --git');
    const { epoch, continuity } = await bench.outcome('CheckpointRestored');
    expect(epoch).toBe(2);
    expect(continuity.losses).toEqual([{ path: 'node_modules', reason: 'ignored' }]);
    await bench.restore(2, { attempt: 2 });
    expect(await typesOf(bench)).toHaveLength(4);
  });

  it.each([
    ['a part that is missing', 'wip.patch', null],
    ['a part that was changed', 'wip.patch', 'x'],
    ['a meta.json that is missing', 'meta.json', null],
    ['a manifest that is missing', 'manifest.json', null],
    ['a manifest that was changed', 'manifest.json', '{'],
  ])('fails at once for %s, so that an older one is tried [R1]', async (_, name, text) => {
    const bench = await restorable();
    const key = (await keysOf(bench.blobs)).find((each) => each.endsWith(name)) ?? '';
    if (text === null) await bench.blobs.delete(key);
    else await bench.blobs.put(key, Buffer.from(text));
    await bench.restore(2);
    expect((await bench.outcome('CheckpointRestoreFailed')).epoch).toBe(2);
  });

  it('that was cut in the store does not reach the tool', async () => {
    const bench = await restorable();
    const key = (await keysOf(bench.blobs)).find((each) => each.endsWith('wip.patch')) ?? '';
    await bench.blobs.put(key, (await readBlob(bench.blobs, key)).subarray(0, -1));
    await bench.restore(2);
    expect(bench.tool.verbs).toEqual(['capture']);
    expect(await bench.outcome('CheckpointRestoreFailed')).toMatchObject({ code: 'error' });
  });

  it.each<[string, object]>([
    ['a state that is none', restored({ continuity: { conversation: { state: 'fine' } } })],
    ['losses that are no list', restored({ losses: 'none' })],
    ['an error of its own', { error: { code: 'corrupt', message: 'x'.repeat(1e6) } }],
  ])('fails at once when the tool reports %s', async (_, report) => {
    const bench = await restorable();
    bench.tool.play = async () => report;
    await bench.restore(2);
    const { error } = await bench.outcome('CheckpointRestoreFailed');
    expect(error.length).toBeLessThan(600);
  });

  it('brings the base commits when the clone does not have them', async () => {
    const bench = await createWorkerBench();
    bench.tool.play = async (asked) =>
      capture(asked, { parts: { 'base.pack': Buffer.from('the base') } });
    await bench.request();
    await bench.take();
    const brought: boolean[] = [];
    bench.tool.play = async ({ exec, out }) => {
      brought.push(exec.files.get(`${out}/base.pack`) !== null);
      if (brought.length > 1) return restored();
      return { error: { code: 'base_gone', message: 'not in the clone' } };
    };
    await bench.requestRestore(2);
    await bench.restore(2);
    expect(brought).toEqual([false, true]);
    expect(await typesOf(bench)).toContain('CheckpointRestored');
  });

  it('is tried again while the sandbox cannot be asked', async () => {
    const bench = await restorable();
    bench.driver.faults.isUnreachable = true;
    await expect(bench.restore(2)).rejects.toMatchObject({ code: 'unavailable' });
    bench.driver.faults.isUnreachable = false;
    await bench.restore(2, { attempt: 2 });
    expect(await typesOf(bench)).toContain('CheckpointRestored');
  });
});
