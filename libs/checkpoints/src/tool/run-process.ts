import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Writable } from 'node:stream';
import { ToolError } from './tool-error.ts';

/** What one process may print into memory: the listing of about 2 million paths. */
const OUTPUT_BYTES_MAX = 512 * 1024 * 1024;
/** Messages on stderr beyond this are dropped; only the first lines are ever shown. */
const MESSAGE_BYTES_MAX = 1024 * 1024;
/** One git or tar call; above it the sub-command ends with `time_limit`. */
export const PROCESS_SECONDS_MAX = 300;

export interface RunOptions {
  env: Record<string, string>;
  cwd?: string;
  input?: Buffer | string | AsyncIterable<Buffer>;
  /** Output goes through these streams instead of into memory. */
  output?: string | Writable[];
  /** Stop reading (and end the process) after so many bytes; the result says `cut`. */
  outputBytesMax?: number;
}

export interface RunResult {
  status: number;
  stdout: Buffer;
  message: string;
  cut: boolean;
}

/** Runs one program to its end. A non-zero exit is a result, not an exception. */
export async function runProcess(
  program: string,
  args: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  const child = spawn(program, args, {
    env: options.env,
    cwd: options.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), PROCESS_SECONDS_MAX * 1000);
  let late = false;
  limit.unref();
  const chunks: Buffer[] = [];
  const messages: Buffer[] = [];
  const state = { bytes: 0, messageBytes: 0, cut: false };
  const exited = new Promise<number>((resolve, reject) => {
    child.on('error', (error) =>
      reject(new ToolError('unsupported', `cannot run ${program}: ${error.message}`, error)),
    );
    child.on('close', (status, signal) => {
      late = signal === 'SIGKILL' && !state.cut;
      resolve(status ?? 128);
    });
  });
  child.stderr.on('data', (chunk: Buffer) => {
    if (state.messageBytes < MESSAGE_BYTES_MAX) messages.push(chunk);
    state.messageBytes += chunk.length;
  });
  const written = sendOutput(child, options, chunks, state);
  feed(child.stdin, options.input);
  try {
    const [status] = await Promise.all([exited, written]);
    if (late) {
      throw new ToolError('time_limit', `${program} ran over ${PROCESS_SECONDS_MAX} s`);
    }
    const message = Buffer.concat(messages).toString('latin1');
    return { status, stdout: Buffer.concat(chunks), message, cut: state.cut };
  } finally {
    clearTimeout(limit);
    if (child.exitCode === null) child.kill('SIGKILL');
  }
}

function sendOutput(
  child: ReturnType<typeof spawn>,
  options: RunOptions,
  chunks: Buffer[],
  state: { bytes: number; cut: boolean },
): Promise<void> {
  const stdout = child.stdout!;
  if (options.output !== undefined) {
    const streams =
      typeof options.output === 'string' ? [createWriteStream(options.output)] : options.output;
    return pipeline([stdout, ...streams]);
  }
  const bytesMax = options.outputBytesMax ?? OUTPUT_BYTES_MAX;
  stdout.on('data', (chunk: Buffer) => {
    if (state.cut) return;
    state.bytes += chunk.length;
    chunks.push(chunk);
    if (state.bytes > bytesMax) {
      state.cut = true;
      child.kill('SIGKILL');
    }
  });
  return new Promise((resolve) => stdout.on('close', () => resolve()));
}

/** A program that ends before it has read everything is judged by its exit, not by EPIPE. */
function feed(stdin: Writable | null, input: RunOptions['input']): void {
  if (!stdin) return;
  stdin.on('error', () => undefined);
  if (input === undefined || typeof input === 'string' || Buffer.isBuffer(input)) {
    stdin.end(input);
    return;
  }
  void pipeline(input, stdin).catch(() => undefined);
}
