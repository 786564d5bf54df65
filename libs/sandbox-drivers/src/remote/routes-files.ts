import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { HangarError, sandboxData } from '@hangar/contracts';
import type { SandboxIo } from '../sandbox-driver.ts';
import { CHUNK_BYTES_MAX } from './output-streams.ts';
import { readFirst, toReadable, type Observe } from './route-parts.ts';

const FILE_MODE = 0o644;

export const servePutFile = async (
  io: SandboxIo,
  observe: Observe,
  requests: AsyncIterable<sandboxData.PutFileRequest>,
  context: HandlerContext,
): Promise<sandboxData.PutFileResponse> => {
  const messages = requests[Symbol.asyncIterator]();
  const { frame } = await readFirst(messages);
  if (frame.case !== 'start') throw new HangarError('invalid', 'A file begins with its start.');
  const { target, path, mode } = frame.value;
  const { ref, ended } = await observe(target, 'files');
  try {
    const body = toReadable(verifiedChunks(messages));
    const options = { mode: mode ?? FILE_MODE, signal: context.signal };
    const { size, sha256 } = await io.files.put(ref, path, body, options);
    return create(sandboxData.PutFileResponseSchema, { size: BigInt(size), sha256 });
  } finally {
    ended();
  }
};

/** The chunks of an upload; fails at the end unless all of them came, unchanged. */
async function* verifiedChunks(
  messages: AsyncIterator<sandboxData.PutFileRequest>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let size = 0n;
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    const { frame } = next.value;
    if (frame.case === 'chunk') {
      hash.update(frame.value);
      size += BigInt(frame.value.length);
      yield frame.value;
    } else if (frame.case === 'end') {
      if (frame.value.size === size && frame.value.sha256 === hash.digest('hex')) return;
      throw new HangarError('unavailable', 'The upload is not what its sender says it sent.');
    }
  }
  throw new HangarError('unavailable', 'The upload was cut off.');
}

export async function* serveGetFile(
  io: SandboxIo,
  observe: Observe,
  request: sandboxData.GetFileRequest,
  context: HandlerContext,
): AsyncGenerator<sandboxData.GetFileResponse> {
  const answer = (frame: sandboxData.GetFileResponse['frame']): sandboxData.GetFileResponse =>
    create(sandboxData.GetFileResponseSchema, { frame });
  const { ref, ended } = await observe(request.target, 'files');
  try {
    const options = { from: Number(request.from), signal: context.signal };
    const file = await io.files.get(ref, request.path, options);
    if (!file) return yield answer({ case: 'absent', value: true });
    yield answer({ case: 'size', value: BigInt(file.size) });
    for await (const chunk of file.body) {
      const bytes = chunk as Uint8Array;
      for (let offset = 0; offset < bytes.length; offset += CHUNK_BYTES_MAX) {
        const value = bytes.subarray(offset, offset + CHUNK_BYTES_MAX);
        yield answer({ case: 'chunk', value });
      }
    }
    yield answer({ case: 'sha256', value: await file.sha256 });
  } finally {
    ended();
  }
}
