import { describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { checkPart } from './part-check.ts';

const BLOCK = 512;
const RULES = { conversationDirectories: ['.pi/agent/sessions'], unpackedBytesMax: 1_000_000 };

function entry(name: string, content: string): Buffer {
  const head = Buffer.alloc(BLOCK);
  head.write(name, 0);
  head.write('0000644\0', 100);
  head.write('0000000\0', 108);
  head.write('0000000\0', 116);
  head.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  head.write('00000000000\0', 136);
  head.write(' '.repeat(8), 148);
  head.write('0', 156);
  head.write('ustar\x0000', 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(content.length / BLOCK) * BLOCK);
  body.write(content);
  return Buffer.concat([head, body]);
}

const tgz = (...entries: Buffer[]): Buffer =>
  gzipSync(Buffer.concat([...entries, Buffer.alloc(2 * BLOCK)]));

async function pass(name: 'untracked.tgz' | 'agent.tgz', bytes: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const part = { name, size: bytes.length, sha256: '', codec: 'gzip' as const };
  const source = Readable.from([bytes.subarray(0, 100), bytes.subarray(100)]);
  for await (const chunk of checkPart(part, source, RULES)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('a part on its way into the store', () => {
  it('passes unchanged when every header keeps the rules [R10]', async () => {
    const bytes = tgz(entry('notes.txt', 'hello'), entry('dir/more.txt', 'x'.repeat(2000)));
    expect((await pass('untracked.tgz', bytes)).equals(bytes)).toBe(true);
  });

  it('ends with an error at a path that leaves the workspace [R4]', async () => {
    await expect(pass('untracked.tgz', tgz(entry('../escape', 'x')))).rejects.toMatchObject({
      code: 'refused',
    });
  });

  it('lets only conversation directories into agent.tgz [C7]', async () => {
    await expect(pass('agent.tgz', tgz(entry('.ssh/authorized_keys', 'x')))).rejects.toMatchObject({
      code: 'refused',
    });
    const good = tgz(entry('.pi/agent/sessions/a.jsonl', '{}'));
    expect((await pass('agent.tgz', good)).equals(good)).toBe(true);
  });

  it('finds a part that was cut short', async () => {
    const bytes = tgz(entry('notes.txt', 'hello'.repeat(500)));
    await expect(pass('untracked.tgz', bytes.subarray(0, -20))).rejects.toMatchObject({
      code: 'corrupt',
    });
  });
});
