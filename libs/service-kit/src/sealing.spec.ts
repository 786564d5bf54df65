import { randomBytes } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it } from '@jest/globals';
import { openStream, sealedBytes, sealStream, SEGMENT_BYTES } from './sealing.ts';

const key = randomBytes(32);
const AAD = 'ckp-12345678/wip.patch';
const HEADER = 36;
const SEALED = SEGMENT_BYTES + 16;
const invalid = expect.objectContaining({ name: 'HangarError', code: 'invalid' });

async function seal(plain: Buffer, chunkBytes = 10_000): Promise<Buffer> {
  return buffer(Readable.from(pieces(plain, chunkBytes)).compose(sealStream(key, AAD)));
}

async function open(sealed: Buffer, aad = AAD, dataKey = key, chunkBytes = 9_999): Promise<Buffer> {
  const out: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      out.push(chunk);
      done();
    },
  });
  await pipeline(Readable.from(pieces(sealed, chunkBytes)), openStream(dataKey, aad), sink);
  return Buffer.concat(out);
}

function* pieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

/** Header and segments of a sealed stream, to take apart and put together wrongly. */
function parts(sealed: Buffer): { header: Buffer; segments: Buffer[] } {
  return {
    header: sealed.subarray(0, HEADER),
    segments: [...pieces(sealed.subarray(HEADER), SEALED)],
  };
}

describe('sealed streams', () => {
  const sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 300_001];

  it.each(sizes)('gives back %d bytes, in the documented length', async (size) => {
    const plain = randomBytes(size);
    const sealed = await seal(plain);
    expect(sealed.byteLength).toBe(sealedBytes(size));
    expect((await open(sealed)).equals(plain)).toBe(true);
  });

  it.each([1, 7, 65_536, 65_552, 1_000_000])('whatever the chunks (%d bytes)', async (bytes) => {
    const plain = randomBytes(140_000);
    const sealed = await seal(plain, bytes);
    expect((await open(sealed, AAD, key, bytes)).equals(plain)).toBe(true);
  });

  it('takes text as its bytes', async () => {
    const sealed = await buffer(Readable.from(['é', 'x']).compose(sealStream(key, AAD)));
    expect((await open(sealed)).toString()).toBe('éx');
  });

  it('never gives the same bytes twice', async () => {
    const plain = Buffer.from('same');
    const [first, second] = [await seal(plain), await seal(plain)];
    expect(first.subarray(HEADER).equals(second.subarray(HEADER))).toBe(false);
  });

  it('finds a cut, at any segment and inside one', async () => {
    const sealed = await seal(randomBytes(3 * SEGMENT_BYTES));
    const lengths = [
      0,
      3,
      HEADER,
      HEADER + 15,
      HEADER + 16,
      HEADER + SEALED - 1,
      HEADER + SEALED,
      HEADER + 2 * SEALED,
      HEADER + 2 * SEALED + 16,
      sealed.byteLength - 1,
    ];
    for (const length of lengths) {
      await expect(open(sealed.subarray(0, length))).rejects.toEqual(invalid);
    }
  });

  it('finds what was added', async () => {
    const sealed = await seal(randomBytes(SEGMENT_BYTES));
    const { header, segments } = parts(sealed);
    for (const more of [Buffer.alloc(1), Buffer.alloc(16), segments[0]!, sealed]) {
      await expect(open(Buffer.concat([sealed, more]))).rejects.toEqual(invalid);
    }
    await expect(open(Buffer.concat([header, sealed]))).rejects.toEqual(invalid);
  });

  it('finds segments that changed places, came twice or are missing', async () => {
    const { header, segments } = parts(await seal(randomBytes(4 * SEGMENT_BYTES)));
    const orders = [[1, 0, 2, 3], [0, 0, 1, 2, 3], [0, 2, 3], [1, 2, 3], [0, 1, 3, 2], [3], [0]];
    for (const order of orders) {
      const wrong = Buffer.concat([header, ...order.map((at) => segments[at]!)]);
      await expect(open(wrong)).rejects.toEqual(invalid);
    }
    const right = Buffer.concat([header, ...segments]);
    await expect(open(right)).resolves.toHaveLength(4 * SEGMENT_BYTES);
  });

  it('finds segments of another stream of the same key', async () => {
    const plain = randomBytes(2 * SEGMENT_BYTES);
    const [one, other] = [parts(await seal(plain)), parts(await seal(plain))];
    const mixed = Buffer.concat([one.header, one.segments[0]!, other.segments[1]!]);
    await expect(open(mixed)).rejects.toEqual(invalid);
  });

  it('finds a changed bit in any byte of a small stream, and in each part of a large one', async () => {
    const small = await seal(Buffer.from('payload'));
    for (let at = 0; at < small.byteLength; at += 1) {
      await expect(open(changedAt(small, at))).rejects.toEqual(invalid);
    }
    const large = await seal(randomBytes(2 * SEGMENT_BYTES + 5));
    const places = [HEADER, HEADER + SEALED - 1, HEADER + SEALED, HEADER + 2 * SEALED + 4];
    for (const at of places) {
      await expect(open(changedAt(large, at))).rejects.toEqual(invalid);
    }
  });

  it('opens only with its key and its place', async () => {
    const sealed = await seal(Buffer.from('x'));
    await expect(open(sealed, 'ckp-12345678/agent.tgz')).rejects.toEqual(invalid);
    await expect(open(sealed, AAD, randomBytes(32))).rejects.toEqual(invalid);
    await expect(open(Buffer.from('PK\u0003\u0004'.repeat(40)))).rejects.toThrow(
      'not a sealed part',
    );
  });

  it('refuses a data key of another length at once', () => {
    expect(() => sealStream(randomBytes(16), AAD)).toThrow(invalid);
  });

  it('gives nothing of a segment before it was checked', async () => {
    const sealed = await seal(randomBytes(2 * SEGMENT_BYTES));
    sealed[HEADER + SEALED + 5]! ^= 1;
    let given = 0;
    const reading = async (): Promise<void> => {
      const opened = Readable.from(pieces(sealed, 1_000)).compose(openStream(key, AAD));
      for await (const chunk of opened as AsyncIterable<Buffer>) given += chunk.byteLength;
    };
    await expect(reading()).rejects.toThrow('segment 2');
    expect(given).toBe(SEGMENT_BYTES);
  });
});

describe('memory', () => {
  it('stays where it is while 200 MB pass through both ways', async () => {
    const chunk = randomBytes(1024 * 1024);
    let highest = 0;
    let passed = 0;
    const start = process.memoryUsage.rss();
    function* source(): Generator<Buffer> {
      for (let sent = 0; sent < 200; sent += 1) yield chunk;
    }
    const sink = new Writable({
      write(bytes: Buffer, _encoding, done) {
        passed += bytes.byteLength;
        highest = Math.max(highest, process.memoryUsage.rss());
        done();
      },
    });
    const stages = [sealStream(key, AAD), openStream(key, AAD)] as const;
    await pipeline(Readable.from(source()), ...stages, sink);
    expect(passed).toBe(200 * chunk.byteLength);
    expect(highest - start).toBeLessThan(80 * 1024 * 1024);
  });
});

function changedAt(sealed: Buffer, at: number): Buffer {
  const changed = Buffer.from(sealed);
  changed[at]! ^= 0x10;
  return changed;
}
