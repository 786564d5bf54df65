import { Readable } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { sandboxData } from '@hangar/contracts';
import type {
  ExecRequest,
  ExecStream,
  ExitStatus,
  RunFollow,
  SandboxRef,
} from '../sandbox-driver.ts';
import { Outbox } from './outbox.ts';
import { CHUNK_BYTES_MAX, receiveOutput, type OutputFrame } from './output-streams.ts';
import type { DataClient, ToTarget } from './data-client.ts';
import { findHangarError, fromExit } from './wire-values.ts';

/** The longest that a timer at the other end can wait: about 24 days. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

type ExecFrame = sandboxData.ExecRequest['frame'];
type FollowFrame = sandboxData.RunFollowRequest['frame'];

export const remoteExec = async (
  client: DataClient,
  toTarget: ToTarget,
  ref: SandboxRef,
  request: ExecRequest,
): Promise<ExecStream> => {
  request.signal?.throwIfAborted();
  const outbox = new Outbox<sandboxData.ExecRequest>();
  const wrap = (frame: ExecFrame) => create(sandboxData.ExecRequestSchema, { frame });
  const { argv, cwd, envVars, timeoutMs } = request;
  const start = create(sandboxData.ExecStartSchema, {
    target: toTarget(ref, request.quiet),
    process: { argv, ...(cwd === undefined ? {} : { cwd }), envVars: envVars ?? {} },
    ...(timeoutMs === undefined
      ? {}
      : { timeoutMs: Math.min(Math.ceil(timeoutMs), TIMEOUT_MS_MAX) }),
  });
  outbox.send(wrap({ case: 'start', value: start }));
  const responses = client.exec(outbox)[Symbol.asyncIterator]();
  const first = await readStart(responses);
  const kill = (signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    outbox.send(wrap({ case: 'signal', value: signal }));
    return Promise.resolve();
  };
  if (first.case !== 'started') {
    outbox.end();
    return { ...endedOutput(first), kill };
  }
  const abort = (): void => void kill('SIGKILL');
  request.signal?.addEventListener('abort', abort);
  if (request.signal?.aborted) abort();
  void sendStdin(outbox, wrap, request.stdin ?? new Uint8Array()).catch(() => kill('SIGKILL'));
  const output = receiveOutput(frames(responses), (credit) => {
    const value = create(sandboxData.CreditSchema, credit);
    outbox.send(wrap({ case: 'credit', value }));
  });
  const exit = output.exit.finally(() => {
    request.signal?.removeEventListener('abort', abort);
    outbox.close();
  });
  exit.catch(() => undefined);
  return { ...output, exit, kill };
};

const sendStdin = async (
  outbox: Outbox<sandboxData.ExecRequest>,
  wrap: (frame: ExecFrame) => sandboxData.ExecRequest,
  body: Readable | Uint8Array,
): Promise<void> => {
  for await (const chunk of body instanceof Readable ? body : [body]) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array);
    for (let offset = 0; offset < bytes.length; offset += CHUNK_BYTES_MAX) {
      const value = bytes.subarray(offset, offset + CHUNK_BYTES_MAX);
      if (!(await outbox.push(wrap({ case: 'stdin', value })))) return;
    }
  }
  outbox.send(wrap({ case: 'stdinEnd', value: true }));
};

export const remoteFollow = async (
  client: DataClient,
  toTarget: ToTarget,
  ref: SandboxRef,
  runId: string,
  from: { out: number; err: number },
  signal?: AbortSignal,
): Promise<RunFollow> => {
  signal?.throwIfAborted();
  const outbox = new Outbox<sandboxData.RunFollowRequest>();
  const wrap = (frame: FollowFrame) => create(sandboxData.RunFollowRequestSchema, { frame });
  const start = create(sandboxData.RunFollowStartSchema, {
    target: toTarget(ref),
    runId,
    fromOut: BigInt(from.out),
    fromErr: BigInt(from.err),
  });
  outbox.send(wrap({ case: 'start', value: start }));
  const call = client.runFollow(outbox, signal ? { signal } : {});
  const responses = call[Symbol.asyncIterator]();
  const first = await readStart(responses);
  if (first.case !== 'started') {
    outbox.end();
    return endedOutput(first);
  }
  const output = receiveOutput(frames(responses), (credit) => {
    const value = create(sandboxData.CreditSchema, credit);
    outbox.send(wrap({ case: 'credit', value }));
  });
  const abort = (): void => {
    output.stdout.destroy();
    output.stderr.destroy();
  };
  signal?.addEventListener('abort', abort);
  const exit = output.exit.finally(() => {
    signal?.removeEventListener('abort', abort);
    outbox.close();
  });
  exit.catch(() => undefined);
  return { ...output, exit };
};

type OutputResponse = sandboxData.ExecResponse | sandboxData.RunFollowResponse;
type Started = OutputFrame | { case: undefined };

/** What the service answers first: that it began, or at once how it ended. */
const readStart = async (responses: AsyncIterator<OutputResponse>): Promise<Started> => {
  try {
    const first = await responses.next();
    return first.done === true ? { case: undefined } : (first.value.frame as Started);
  } catch (error) {
    const said = findHangarError(error);
    if (said) throw said;
    return { case: undefined };
  }
};

const endedOutput = (first: Started): RunFollow => {
  const exit: ExitStatus =
    first.case === 'exit' ? fromExit(first.value) : { kind: 'connection_lost' };
  return { stdout: Readable.from([]), stderr: Readable.from([]), exit: Promise.resolve(exit) };
};

async function* frames(responses: AsyncIterator<OutputResponse>): AsyncGenerator<OutputFrame> {
  for (let next = await responses.next(); next.done !== true; next = await responses.next()) {
    if (next.value.frame.case !== undefined) yield next.value.frame;
  }
}
