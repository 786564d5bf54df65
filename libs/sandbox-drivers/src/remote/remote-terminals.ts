import { create } from '@bufbuild/protobuf';
import { HangarError, sandboxData } from '@hangar/contracts';
import { createChannelReader } from '../local/wire/channel.ts';
import type {
  ExitStatus,
  SandboxRef,
  SandboxTerminals,
  TerminalSize,
  TerminalView,
} from '../sandbox-driver.ts';
import { Outbox } from './outbox.ts';
import { asBuffer } from './output-streams.ts';
import { call, UNARY, type DataClient, type ToTarget } from './data-client.ts';
import { findHangarError, fromExit, fromSize, fromTerminal, toHangarError } from './wire-values.ts';

export const createRemoteTerminals = (
  client: DataClient,
  toTarget: ToTarget,
): SandboxTerminals => ({
  async open(ref, terminalId, { argv, cwd, envVars, cols, rows }) {
    const process = { argv, ...(cwd === undefined ? {} : { cwd }), envVars: envVars ?? {} };
    const request = { target: toTarget(ref), terminalId, process, size: { cols, rows } };
    await call(client.terminalOpen(request, UNARY));
  },
  attach: (ref, id, view, signal) => attach(client, toTarget, ref, id, view, signal),
  async list(ref) {
    const { terminals } = await call(client.terminalList({ target: toTarget(ref) }, UNARY));
    return terminals.map(fromTerminal);
  },
  async close(ref, terminalId) {
    await call(client.terminalClose({ target: toTarget(ref), terminalId }, UNARY));
  },
});

type Frame = sandboxData.TerminalAttachRequest['frame'];

const attach = async (
  client: DataClient,
  toTarget: ToTarget,
  ref: SandboxRef,
  terminalId: string,
  { from, size }: { from: number; size: TerminalSize | null },
  signal?: AbortSignal,
): Promise<TerminalView> => {
  signal?.throwIfAborted();
  const outbox = new Outbox<sandboxData.TerminalAttachRequest>();
  const wrap = (frame: Frame) => create(sandboxData.TerminalAttachRequestSchema, { frame });
  const start = create(sandboxData.TerminalAttachStartSchema, {
    target: toTarget(ref),
    terminalId,
    from: BigInt(from),
    ...(size ? { size } : {}),
  });
  outbox.send(wrap({ case: 'start', value: start }));
  const given = new AbortController();
  const responses = client.terminalAttach(outbox, { signal: given.signal })[Symbol.asyncIterator]();
  const output = new TerminalOutput();
  const attached = await output.awaitStart(responses);
  const giveUp = (): void => {
    outbox.close();
    output.reader.readable.destroy();
    given.abort();
  };
  signal?.addEventListener('abort', giveUp);
  const exit = output.collect(responses).finally(() => {
    signal?.removeEventListener('abort', giveUp);
    outbox.close();
  });
  exit.catch(() => undefined);
  return {
    offset: Number(attached.offset),
    ...fromSize(attached.size),
    output: output.reader.readable,
    exit,
    onResize: (listener) => output.onResize(listener),
    async write(bytes) {
      await outbox.push(wrap({ case: 'input', value: bytes }));
    },
    async resize(cols, rows) {
      const value = create(sandboxData.SizeSchema, { cols, rows });
      await outbox.push(wrap({ case: 'resize', value }));
    },
    async detach() {
      // What was typed before goes there first.
      outbox.end();
      output.reader.readable.destroy();
      await exit;
    },
  };
};

/** One output is held back by the stream's own flow control: it is read only as it is taken. */
class TerminalOutput {
  private exit: ExitStatus = { kind: 'connection_lost' };
  private owedBytes = 0;
  private wake: (() => void) | undefined;
  private listener: ((size: TerminalSize) => void) | undefined;
  /** That came before somebody listened. */
  private resized: TerminalSize | undefined;
  readonly reader = createChannelReader((bytes) => {
    this.owedBytes -= bytes;
    this.wake?.();
  });

  onResize(listener: (size: TerminalSize) => void): void {
    this.listener = listener;
    if (this.resized) listener(this.resized);
  }

  /** Throws what the service refused, and when it cannot be asked. */
  async awaitStart(
    responses: AsyncIterator<sandboxData.TerminalAttachResponse>,
  ): Promise<sandboxData.TerminalAttached> {
    try {
      const first = await responses.next();
      if (first.done !== true && first.value.frame.case === 'attached') {
        return first.value.frame.value;
      }
    } catch (error) {
      throw toHangarError(error);
    }
    throw new HangarError('unavailable', 'The sandboxes service gave no terminal.');
  }

  async collect(responses: AsyncIterator<sandboxData.TerminalAttachResponse>): Promise<ExitStatus> {
    try {
      for (let next = await responses.next(); next.done !== true; next = await responses.next()) {
        await this.accept(next.value);
      }
    } catch (error) {
      const said = findHangarError(error);
      if (said && !this.reader.readable.destroyed) throw said;
    } finally {
      this.reader.end();
    }
    await this.reader.drained;
    return this.exit;
  }

  private async accept({ frame }: sandboxData.TerminalAttachResponse): Promise<void> {
    if (frame.case === 'exit') this.exit = fromExit(frame.value);
    if (frame.case === 'resized') {
      this.resized = fromSize(frame.value);
      this.listener?.(this.resized);
    }
    if (frame.case !== 'output') return;
    while (this.owedBytes > 0 && !this.reader.readable.destroyed) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    this.owedBytes += frame.value.length;
    this.reader.receive(asBuffer(frame.value));
  }
}
