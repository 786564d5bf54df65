import { describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { readReport } from './changes.ts';

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
