import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CHANNEL, type MuxStream } from '../wire/mux-stream.ts';
import {
  INPUT_BYTES_MAX,
  type ProcessRequest,
  type SandboxdConfig,
  type SignalName,
} from '../wire/protocol.ts';
import { OperationError } from './operation-error.ts';
import { followRun } from './run-follow.ts';
import { Run } from './run.ts';

/** Runs that may go on at once in one sandbox. */
const RUNNING_MAX = 64;
const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Every run this sandbox ever heard of. */
export class Runs {
  private readonly config: SandboxdConfig;
  private readonly runs = new Map<string, Promise<Run>>();

  constructor(config: SandboxdConfig) {
    this.config = config;
  }

  async adoptAll(): Promise<void> {
    await mkdir(this.config.runsDirectory, { recursive: true });
    for (const id of await readdir(this.config.runsDirectory)) {
      const run = new Run(id, join(this.config.runsDirectory, id));
      if (await run.adopt()) this.runs.set(id, Promise.resolve(run));
    }
  }

  async start(stream: MuxStream, id: string, request: ProcessRequest): Promise<void> {
    if (!RUN_ID.test(id)) throw new OperationError('invalid', `${JSON.stringify(id)} is no run id`);
    const stdin = await readInput(stream);
    let run = this.runs.get(id);
    if (!run) {
      await this.checkRoom();
      // The check was a wait: a second start of the same id may have come first.
      run = this.runs.get(id) ?? this.create(id, request, stdin);
      this.runs.set(id, run);
    }
    await run;
    stream.finish({});
  }

  async follow(stream: MuxStream, id: string, from: { out: number; err: number }): Promise<void> {
    await followRun(stream, await this.require(id), from);
  }

  async input(stream: MuxStream, id: string, key: string, eof: boolean): Promise<void> {
    const run = await this.require(id);
    await run.say(key, await readInput(stream), eof);
    stream.finish({});
  }

  async kill(stream: MuxStream, id: string, signal: SignalName): Promise<void> {
    await (await this.require(id)).kill(signal);
    stream.finish({});
  }

  async status(stream: MuxStream, id: string): Promise<void> {
    const run = await this.runs.get(id);
    if (!run) return stream.finish({ state: 'unknown' });
    const sizes = await run.sizes();
    if (run.end) return stream.finish({ state: 'exited', exit: run.end.exit, ...sizes });
    stream.finish({ state: 'running', ...sizes });
  }

  private async create(id: string, request: ProcessRequest, stdin: Buffer): Promise<Run> {
    const run = new Run(id, join(this.config.runsDirectory, id));
    try {
      await run.start(request, stdin, this.config);
      return run;
    } catch (error) {
      // Nothing is left, so that the same start can be tried again.
      await run.discard();
      this.runs.delete(id);
      throw error;
    }
  }

  private async checkRoom(): Promise<void> {
    const runs = await Promise.all(this.runs.values());
    if (runs.filter((run) => !run.end).length < RUNNING_MAX) return;
    throw new OperationError('exhausted', `${RUNNING_MAX} runs are going on in this sandbox`);
  }

  private async require(id: string): Promise<Run> {
    const run = await this.runs.get(id);
    if (run) return run;
    throw new OperationError('not_found', `this sandbox never heard of the run ${id}`);
  }
}

const readInput = async (stream: MuxStream): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream.readable(CHANNEL.in)) {
    bytes += (chunk as Buffer).length;
    if (bytes > INPUT_BYTES_MAX) throw new OperationError('invalid', 'the input is too long');
    chunks.push(chunk as Buffer);
  }
  if (stream.cancelled.aborted) throw new OperationError('unavailable', 'the input was cut off');
  return Buffer.concat(chunks);
};
