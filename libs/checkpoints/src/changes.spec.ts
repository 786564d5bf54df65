import { describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { readChanges, readReport } from './changes.ts';
import { capture, createWorkerBench, type Tool } from './testing/worker-bench.ts';
import { CHECKPOINT, SESSION } from './testing/parts.ts';

const FILE = { path: 'a', status: 'added', area: 'staged', binary: false, diff: null };
const REPORT = { base: null, files: [FILE], truncated: false };
const BYTES = Buffer.from(JSON.stringify(REPORT));

describe('the changes in a checkpoint', () => {
  it.each([
    ['zstd', zstdCompressSync(BYTES)],
    ['gzip', gzipSync(BYTES)],
    ['plain', BYTES],
  ])('are read from %s', async (_, bytes) => {
    expect(await readReport(Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]))).toEqual(
      REPORT,
    );
  });

  it.each([
    ['that unpack to too much', gzipSync(Buffer.alloc(9 * 1024 * 1024))],
    ['that are too many bytes', Buffer.alloc(9 * 1024 * 1024)],
    ['that are damaged', zstdCompressSync(BYTES).subarray(0, 20)],
  ])('%s are refused in words', async (_, bytes) => {
    await expect(readReport(Readable.from([bytes]))).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('cannot be read'),
    });
  });
});

describe('the changes of a session', () => {
  const asked = { session_id: SESSION, checkpoint_id: null, base_branch: null };

  async function read(play: Tool) {
    const bench = await createWorkerBench();
    bench.tool.play = play;
    const { io, store, place } = bench;
    return readChanges({ io, store, now: () => new Date(0) }, { ...asked, place });
  }

  it('come from its sandbox', async () => {
    const answer = await read(async () => ({ ...REPORT, more: 'that nobody asked for' }));
    expect(answer).toEqual({ ...REPORT, source: 'sandbox', taken_at: '1970-01-01T00:00:00.000Z' });
  });

  it.each<[string, object]>([
    ['no list of files', { ...REPORT, files: 'all' }],
    ['a file that is none', { ...REPORT, files: [null] }],
    ['a diff that is none', { ...REPORT, files: [{ ...FILE, diff: { length: 1e9 } }] }],
    ['an error of its own', { error: { code: 'internal', message: 'x'.repeat(1e6) } }],
  ])('that are %s are refused in a few words', async (_, report) => {
    const error = await read(async () => report).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'invalid' });
    expect((error as Error).message.length).toBeLessThan(700);
  });

  it('that are too many for the bus lose diffs first, and say so', async () => {
    const files = Array.from({ length: 2_000 }, (_, n) => ({
      ...FILE,
      path: `file-${n}`,
      diff: 'd'.repeat(n),
    }));
    const answer = await read(async () => ({ ...REPORT, files }));
    expect(answer.truncated).toBe(true);
    expect(answer.files).toHaveLength(2_000);
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(1_000_000);
  });

  it('of a sandbox that went away are asked for otherwise', async () => {
    const gone = read(async () => ({ exit: { kind: 'sandbox_gone' as const } }));
    await expect(gone).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('checkpoint'),
    });
  });

  it('come from a checkpoint where there is no sandbox', async () => {
    const bench = await createWorkerBench();
    bench.tool.play = async (made) =>
      capture(made, { parts: { 'changes.json': zstdCompressSync(BYTES) } });
    await bench.request();
    await bench.take();
    const { io, store } = bench;
    const of = { ...asked, place: null };
    const answer = await readChanges(
      { io, store, now: () => new Date(0) },
      { ...of, checkpoint_id: CHECKPOINT },
    );
    expect(answer).toMatchObject({ ...REPORT, source: 'checkpoint' });
    await expect(readChanges({ io, store, now: () => new Date(0) }, of)).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
