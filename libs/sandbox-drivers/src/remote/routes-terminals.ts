import { create } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { HangarError, sandboxData } from '@hangar/contracts';
import type { SandboxIo, TerminalSize, TerminalView } from '../sandbox-driver.ts';
import { Outbox } from './outbox.ts';
import { readFirst, type Observe } from './route-parts.ts';
import { fromSize, fromTarget, toExit } from './wire-values.ts';

type Frame = sandboxData.TerminalAttachResponse['frame'];

const respond = (frame: Frame): sandboxData.TerminalAttachResponse =>
  create(sandboxData.TerminalAttachResponseSchema, { frame });

/** A viewer is an activity for as long as it is attached [X4]; one that only watches is none. */
export async function* serveTerminal(
  io: SandboxIo,
  observe: Observe,
  requests: AsyncIterable<sandboxData.TerminalAttachRequest>,
  context: HandlerContext,
): AsyncGenerator<sandboxData.TerminalAttachResponse> {
  const messages = requests[Symbol.asyncIterator]();
  const { frame } = await readFirst(messages);
  if (frame.case !== 'start') throw new HangarError('invalid', 'A terminal begins with its start.');
  const { target, terminalId, from } = frame.value;
  const size = frame.value.size ? fromSize(frame.value.size) : null;
  const quiet = { ref: fromTarget(target), ended: () => undefined };
  const { ref, ended } = size ? await observe(target, 'terminals') : quiet;
  let view: TerminalView | undefined;
  try {
    view = await io.terminals.attach(ref, terminalId, { from: Number(from), size });
    yield* show(view, messages, context);
  } finally {
    ended();
    await view?.detach();
  }
}

async function* show(
  view: TerminalView,
  messages: AsyncIterator<sandboxData.TerminalAttachRequest>,
  context: HandlerContext,
): AsyncGenerator<sandboxData.TerminalAttachResponse> {
  const outbox = new Outbox<sandboxData.TerminalAttachResponse>();
  context.signal.addEventListener('abort', () => void view.detach());
  const attached = { offset: BigInt(view.offset), size: toSize(view) };
  outbox.send(
    respond({
      case: 'attached',
      value: create(sandboxData.TerminalAttachedSchema, attached),
    }),
  );
  view.onResize(
    newestTold((size) => outbox.push(respond({ case: 'resized', value: toSize(size) }))),
  );
  void takeRequests(messages, view);
  const sent = sendOutput(view, outbox);
  yield* outbox;
  await sent;
}

/** Tells one after the other; of those that come while one is being told, only the newest. */
const newestTold = <T>(tell: (value: T) => Promise<unknown>): ((value: T) => void) => {
  let newest: T[] = [];
  let telling = false;
  const tellAll = async (): Promise<void> => {
    telling = true;
    for (let [next] = newest; next !== undefined; [next] = newest) {
      newest = [];
      await tell(next);
    }
    telling = false;
  };
  return (value) => {
    newest = [value];
    if (!telling) void tellAll();
  };
};

const sendOutput = async (
  view: TerminalView,
  outbox: Outbox<sandboxData.TerminalAttachResponse>,
): Promise<void> => {
  try {
    for await (const value of view.output) {
      if (!(await outbox.push(respond({ case: 'output', value: value as Uint8Array })))) return;
    }
    const exit = create(sandboxData.ExitSchema, toExit(await view.exit));
    await outbox.push(respond({ case: 'exit', value: exit }));
  } catch (error) {
    // A viewer that has left has heard enough.
    if (!view.output.destroyed) throw error;
  } finally {
    outbox.end();
  }
};

const toSize = ({ cols, rows }: TerminalSize): sandboxData.Size =>
  create(sandboxData.SizeSchema, { cols, rows });

const takeRequests = async (
  messages: AsyncIterator<sandboxData.TerminalAttachRequest>,
  view: TerminalView,
): Promise<void> => {
  try {
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      const { frame } = next.value;
      if (frame.case === 'input') await view.write(frame.value);
      else if (frame.case === 'resize') await view.resize(frame.value.cols, frame.value.rows);
    }
  } catch {
    // The caller went away.
  }
  await view.detach();
};
