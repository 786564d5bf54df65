import type { Readable } from 'node:stream';

export interface Collected {
  bytes: Buffer;
  isTruncated: boolean;
}

/** Reads a stream to its end, keeping the first `bytesMax`; the rest is read and forgotten. */
export async function collectOutput(stream: Readable, bytesMax: number): Promise<Collected> {
  const kept: Buffer[] = [];
  let size = 0;
  let isTruncated = false;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const room = bytesMax - size;
    if (bytes.byteLength > room) isTruncated = true;
    if (room > 0) kept.push(bytes.subarray(0, room));
    size += Math.min(room, bytes.byteLength);
  }
  return { bytes: Buffer.concat(kept), isTruncated };
}

/** As text where it is UTF-8, else as base64: bytes are never changed on the way. */
export function outputFields(name: 'stdout' | 'stderr', { bytes, isTruncated }: Collected): object {
  const text = utf8Text(bytes, isTruncated);
  return {
    ...(text === null ? { [`${name}_base64`]: bytes.toString('base64') } : { [name]: text }),
    [`${name}_truncated`]: isTruncated,
  };
}

/** A cut may have split a character; up to three bytes of it are left out then. */
const CHARACTER_BYTES_MAX = 4;

function utf8Text(bytes: Buffer, isCut: boolean): string | null {
  for (let left = 0; left < (isCut ? CHARACTER_BYTES_MAX : 1); left += 1) {
    try {
      const whole = bytes.subarray(0, bytes.byteLength - left);
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole);
    } catch {
      continue;
    }
  }
  return null;
}
