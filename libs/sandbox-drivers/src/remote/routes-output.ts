import { PassThrough } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { HangarError, sandboxData } from '@hangar/contracts';
import type { ExecStream, SandboxIo } from '../sandbox-driver.ts';
import { Outbox } from './outbox.ts';
import { OutputCredit, sendOutput, type OutputFrame } from './output-streams.ts';
import { readFirst, type Observe } from './route-parts.ts';
import { fromProcess, fromSignal } from './wire-values.ts';

/** The command ends with its stream: the signal of the context kills it. */
export async function* serveExec(
  io: SandboxIo,
  observe: Observe,
  requests: AsyncIterable<sandboxData.ExecRequest>,
  context: HandlerContext,
): AsyncGenerator<sandboxData.ExecResponse> {
  const messages = requests[Symbol.asyncIterator]();
  const { frame } = await readFirst(messages);
  if (frame.case !== 'start') throw new HangarError('invalid', 'An exec begins with its start.');
  const { ref, ended } = await observe(frame.value.target, 'exec');
  try {
    const { timeoutMs } = frame.value;
    const stdin = new PassThrough();
    const exec = await io.exec(ref, {
      ...fromProcess(frame.value.process),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      stdin,
      signal: context.signal,
    });
    const credit = new OutputCredit();
    void takeExecRequests(messages, exec, stdin, credit);
    for await (const sent of outputFrames(exec, credit)) {
      yield create(sandboxData.ExecResponseSchema, { frame: sent });
    }
  } finally {
    ended();
  }
}

/** stdin, signals and credit, until the caller has nothing more to say or went away. */
const takeExecRequests = async (
  messages: AsyncIterator<sandboxData.ExecRequest>,
  exec: ExecStream,
  stdin: PassThrough,
  credit: OutputCredit,
): Promise<void> => {
  // A command that stops reading destroys its stdin; what still comes for it is dropped.
  stdin.on('error', () => undefined);
  try {
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      const { frame } = next.value;
      if (frame.case === 'stdin' && !stdin.destroyed) {
        if (!stdin.write(frame.value)) await drained(stdin);
      } else if (frame.case === 'stdinEnd') stdin.end();
      else if (frame.case === 'signal') await exec.kill(fromSignal(frame.value));
      else if (frame.case === 'credit') credit.give(frame.value);
    }
  } catch {
    // The caller went away or broke the protocol; either way the command has lost its owner.
    await exec.kill('SIGKILL');
  } finally {
    stdin.end();
    credit.close();
  }
};

const drained = (stream: PassThrough): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });

export async function* serveRunFollow(
  io: SandboxIo,
  observe: Observe,
  requests: AsyncIterable<sandboxData.RunFollowRequest>,
  context: HandlerContext,
): AsyncGenerator<sandboxData.RunFollowResponse> {
  const messages = requests[Symbol.asyncIterator]();
  const { frame } = await readFirst(messages);
  if (frame.case !== 'start') throw new HangarError('invalid', 'A follow begins with its start.');
  const { target, runId, fromOut, fromErr } = frame.value;
  const { ref, ended } = await observe(target, 'runs');
  try {
    const from = { out: Number(fromOut), err: Number(fromErr) };
    const run = await io.runs.follow(ref, runId, from, context.signal);
    const credit = new OutputCredit();
    void takeCredit(messages, credit);
    for await (const sent of outputFrames(run, credit)) {
      yield create(sandboxData.RunFollowResponseSchema, { frame: sent });
    }
  } finally {
    ended();
  }
}

const takeCredit = async (
  messages: AsyncIterator<sandboxData.RunFollowRequest>,
  credit: OutputCredit,
): Promise<void> => {
  try {
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      if (next.value.frame.case === 'credit') credit.give(next.value.frame.value);
    }
  } catch {
    // The caller went away; nothing more can be sent to it.
  } finally {
    credit.close();
  }
};

/** The frames of one output; a failure of its exit is the failure of the stream. */
async function* outputFrames(
  output: Parameters<typeof sendOutput>[0],
  credit: OutputCredit,
): AsyncGenerator<OutputFrame> {
  const outbox = new Outbox<OutputFrame>();
  const sent = sendOutput(output, credit, outbox).finally(() => outbox.end());
  sent.catch(() => undefined);
  try {
    yield* outbox;
    await sent;
  } finally {
    credit.close();
    output.stdout.destroy();
    output.stderr.destroy();
  }
}
