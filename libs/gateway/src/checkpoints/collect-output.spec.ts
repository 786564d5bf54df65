import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { collectOutput, outputFields } from './collect-output.ts';

const chunks = (...parts: (string | Uint8Array)[]): Readable =>
  Readable.from(parts.map((part) => Buffer.from(part as string)));

describe('output of a command', () => {
  it('is kept up to the bound, and read to its end', async () => {
    const stream = chunks('abc', 'def', 'ghi');
    expect(await collectOutput(stream, 5)).toEqual({
      bytes: Buffer.from('abcde'),
      isTruncated: true,
    });
    expect(stream.readableEnded).toBe(true);
  });

  it('that fits exactly is not cut', async () => {
    expect(await collectOutput(chunks('abc', 'de'), 5)).toMatchObject({ isTruncated: false });
  });

  it('is text where it is UTF-8, also when a character came in pieces', async () => {
    const [first, second] = [Buffer.from('€').subarray(0, 1), Buffer.from('€').subarray(1)];
    const collected = await collectOutput(chunks(first, second), 10);
    expect(outputFields('stdout', collected)).toEqual({ stdout: '€', stdout_truncated: false });
  });

  it('that was cut inside a character loses that character only', async () => {
    const collected = await collectOutput(chunks('ab€'), 4);
    expect(outputFields('stdout', collected)).toEqual({ stdout: 'ab', stdout_truncated: true });
  });

  it('that is not UTF-8 keeps every byte, as base64', async () => {
    const bytes = Buffer.from([0x61, 0xe2, 0x82]);
    const collected = await collectOutput(chunks(bytes), 10);
    expect(outputFields('stderr', collected)).toEqual({
      stderr_base64: bytes.toString('base64'),
      stderr_truncated: false,
    });
  });

  it('keeps a byte order mark', () => {
    const bytes = Buffer.from('\ufeffa');
    expect(outputFields('stdout', { bytes, isTruncated: false })).toMatchObject({
      stdout: '\ufeffa',
    });
  });
});
