import { create } from '@bufbuild/protobuf';
import { sandboxData } from '@hangar/contracts';
import { createChannelReader } from '../local/wire/channel.ts';
import type { ExitStatus, PtyRequest, PtyStream, SandboxRef } from '../sandbox-driver.ts';
import { Outbox } from './outbox.ts';
import { asBuffer } from './output-streams.ts';
import type { DataClient, ToTarget } from './data-client.ts';
import { findHangarError, fromExit } from './wire-values.ts';

type Frame = sandboxData.PtyRequest['frame'];

export const remotePty = async (
  client: DataClient,
  toTarget: ToTarget,
  ref: SandboxRef,
  request: PtyRequest,
): Promise<PtyStream> => {
  const outbox = new Outbox<sandboxData.PtyRequest>();
  const wrap = (frame: Frame) => create(sandboxData.PtyRequestSchema, { frame });
  const { argv, cwd, envVars, cols, rows } = request;
  const start = create(sandboxData.PtyStartSchema, {
    target: toTarget(ref),
    process: { argv, ...(cwd === undefined ? {} : { cwd }), envVars: envVars ?? {} },
    size: { cols, rows },
  });
  outbox.send(wrap({ case: 'start', value: start }));
  const responses = client.pty(outbox)[Symbol.asyncIterator]();
  const output = new PtyOutput();
  await output.awaitStart(responses);
  const exit = output.collect(responses).finally(() => outbox.close());
  exit.catch(() => undefined);
  return {
    output: output.reader.readable,
    exit,
    async write(bytes) {
      await outbox.push(wrap({ case: 'input', value: bytes }));
    },
    async resize(newCols, newRows) {
      const value = create(sandboxData.SizeSchema, { cols: newCols, rows: newRows });
      await outbox.push(wrap({ case: 'resize', value }));
    },
    async close() {
      outbox.end();
      output.reader.readable.destroy();
      await exit;
    },
  };
};

/** One output is held back by the stream's own flow control: it is read only as it is taken. */
class PtyOutput {
  private exit: ExitStatus = { kind: 'connection_lost' };
  private owedBytes = 0;
  private wake: (() => void) | undefined;
  readonly reader = createChannelReader((bytes) => {
    this.owedBytes -= bytes;
    this.wake?.();
  });

  /** Throws what the service refused. */
  async awaitStart(responses: AsyncIterator<sandboxData.PtyResponse>): Promise<void> {
    try {
      const first = await responses.next();
      if (first.done !== true) await this.accept(first.value);
    } catch (error) {
      const said = findHangarError(error);
      if (said) throw said;
    }
  }

  async collect(responses: AsyncIterator<sandboxData.PtyResponse>): Promise<ExitStatus> {
    try {
      for (let next = await responses.next(); next.done !== true; next = await responses.next()) {
        await this.accept(next.value);
      }
    } catch (error) {
      const said = findHangarError(error);
      if (said) throw said;
    } finally {
      this.reader.end();
    }
    await this.reader.drained;
    return this.exit;
  }

  private async accept({ frame }: sandboxData.PtyResponse): Promise<void> {
    if (frame.case === 'exit') this.exit = fromExit(frame.value);
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
