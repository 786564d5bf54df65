import { create } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { HangarError, sandboxData } from '@hangar/contracts';
import type { PtyStream, SandboxIo } from '../sandbox-driver.ts';
import { readFirst, type Observe } from './route-parts.ts';
import { fromProcess, toExit } from './wire-values.ts';

/** A terminal's size when the caller names none. */
const COLS_DEFAULT = 80;
const ROWS_DEFAULT = 24;

export async function* servePty(
  io: SandboxIo,
  observe: Observe,
  requests: AsyncIterable<sandboxData.PtyRequest>,
  context: HandlerContext,
): AsyncGenerator<sandboxData.PtyResponse> {
  const messages = requests[Symbol.asyncIterator]();
  const { frame } = await readFirst(messages);
  if (frame.case !== 'start') throw new HangarError('invalid', 'A terminal begins with its start.');
  const { target, process, size } = frame.value;
  const { ref, ended } = await observe(target, 'pty');
  let pty: PtyStream | undefined;
  try {
    pty = await io.pty(ref, {
      ...fromProcess(process),
      cols: size?.cols || COLS_DEFAULT,
      rows: size?.rows || ROWS_DEFAULT,
    });
    const opened = pty;
    context.signal.addEventListener('abort', () => void opened.close());
    void takePtyRequests(messages, opened);
    yield create(sandboxData.PtyResponseSchema, { frame: { case: 'started', value: true } });
    for await (const value of untilClosed(opened)) {
      yield create(sandboxData.PtyResponseSchema, { frame: { case: 'output', value } });
    }
    const exit = create(sandboxData.ExitSchema, toExit(await opened.exit));
    yield create(sandboxData.PtyResponseSchema, { frame: { case: 'exit', value: exit } });
  } finally {
    ended();
    await pty?.close();
  }
}

/** What the terminal prints; one that was closed by its caller has said enough. */
async function* untilClosed(pty: PtyStream): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of pty.output) yield chunk as Uint8Array;
  } catch (error) {
    if (!pty.output.destroyed) throw error;
  }
}

const takePtyRequests = async (
  messages: AsyncIterator<sandboxData.PtyRequest>,
  pty: PtyStream,
): Promise<void> => {
  try {
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      const { frame } = next.value;
      if (frame.case === 'input') await pty.write(frame.value);
      else if (frame.case === 'resize') await pty.resize(frame.value.cols, frame.value.rows);
    }
  } catch {
    // The caller went away.
  }
  await pty.close();
};
