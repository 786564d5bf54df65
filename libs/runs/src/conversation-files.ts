import { HangarError } from '@hangar/contracts';
import { CONVERSATION_BYTES_MAX, type ConversationFiles } from '@hangar/harness-adapters';
import type { SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';

const LIST_MS_MAX = 30_000;
const LIST_BYTES_MAX = 4 * 1024 * 1024;

/** The files of a conversation as the adapters look at them, inside the sandbox. */
export function conversationFiles(io: SandboxIo, ref: SandboxRef): ConversationFiles {
  return {
    list: (directory) => list(io, ref, directory),
    read: async (path) => {
      const file = await io.files.get(ref, path);
      if (!file) return null;
      if (file.size > CONVERSATION_BYTES_MAX) {
        file.body.destroy();
        throw new HangarError(
          'exhausted',
          `${path} is larger than ${CONVERSATION_BYTES_MAX} bytes`,
        );
      }
      const chunks: Buffer[] = [];
      for await (const chunk of file.body) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
    write: async (path, bytes) => {
      await io.files.put(ref, path, bytes, { mode: 0o600 });
    },
  };
}

/** Absolute paths of the files below a directory; none when it does not exist. */
async function list(io: SandboxIo, ref: SandboxRef, directory: string): Promise<string[]> {
  const stream = await io.exec(ref, {
    argv: ['find', directory, '-type', 'f', '-print0'],
    timeoutMs: LIST_MS_MAX,
    quiet: true,
    stdin: new Uint8Array(),
  });
  const chunks: Buffer[] = [];
  let size = 0;
  stream.stderr.resume();
  stream.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk.subarray(0, Math.max(0, LIST_BYTES_MAX - size)));
    size += chunk.byteLength;
  });
  const exit = await stream.exit;
  // Half a list would say that a conversation is missing which is there.
  if (exit.kind !== 'exited')
    throw new HangarError(
      'unavailable',
      `the conversation's files could not be listed: ${exit.kind}`,
    );
  // What follows the last zero byte is a path that was cut.
  return Buffer.concat(chunks).toString('utf8').split('\0').slice(0, -1);
}
