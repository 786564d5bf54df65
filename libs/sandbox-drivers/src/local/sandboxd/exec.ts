import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { sweepProcesses } from '../process-table.ts';
import { CHANNEL, type Channel, type MuxStream } from '../wire/mux-stream.ts';
import {
  MARKER,
  type ProcessEnd,
  type ProcessRequest,
  type SandboxdConfig,
} from '../wire/protocol.ts';
import { offerToOomKiller, prepareProcess } from './spawn.ts';

/** The longest that a timer can wait: about 24 days. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
/**
 * After the process ended, a child it left behind may hold its output open for ever. What was in
 * the pipe is still delivered; then this long without a byte, or this many bytes, is the end.
 */
const LINGER_QUIET_MS = 150;
const LINGER_BYTES_MAX = 2 * 1024 * 1024;

/** Runs a command that lives as long as its stream: a lost connection kills it. */
export const serveExec = async (
  stream: MuxStream,
  request: ProcessRequest & { timeoutMs: number | null },
  config: SandboxdConfig,
): Promise<void> => {
  const marker = { name: MARKER.exec, value: randomUUID() };
  const prepared = await prepareProcess(request, config, { [marker.name]: marker.value });
  if (!prepared.ok) return stream.finish({ exit: notStarted(prepared.error) });
  const [program, ...rest] = prepared.argv;
  const child = spawn(program, rest, {
    cwd: prepared.cwd,
    env: prepared.envVars,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = watchEnd(child);
  const pumps = [
    pump(child.stdout, stream, CHANNEL.out, ended),
    pump(child.stderr, stream, CHANNEL.err, ended),
  ];
  if (child.pid === undefined) return stream.finish({ exit: await ended });
  await offerToOomKiller(child.pid);
  stream.send({ started: child.pid });

  const killAll = async (): Promise<void> => {
    await sweepProcesses(marker, [child.pid!]);
  };
  let timedOut = false;
  const timer =
    request.timeoutMs === null
      ? undefined
      : setTimeout(
          () => {
            timedOut = true;
            void killAll();
          },
          Math.min(request.timeoutMs, TIMEOUT_MS_MAX),
        );
  stream.cancelled.addEventListener('abort', () => void killAll());
  if (stream.cancelled.aborted) void killAll();
  stream.onMessage((message) => {
    if (message.signal === 'SIGKILL') void killAll();
    else if (message.signal === 'SIGINT' || message.signal === 'SIGTERM') {
      signalGroup(child.pid!, message.signal);
    }
  });
  void feed(stream.readable(CHANNEL.in), child.stdin);
  const [end] = await Promise.all([ended, ...pumps]);
  clearTimeout(timer);
  child.stdin.destroy();
  stream.readable(CHANNEL.in).destroy();
  stream.finish({ exit: timedOut ? { kind: 'timed_out' } : end });
};

const notStarted = (error: string): ProcessEnd => ({ kind: 'not_started', error });

const watchEnd = (child: ChildProcess): Promise<ProcessEnd> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(notStarted(error.message)));
    child.once('exit', (code, signal) =>
      resolve(signal ? { kind: 'signalled', signal } : { kind: 'exited', code: code ?? 0 }),
    );
  });

export const signalGroup = (group: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-group, signal);
  } catch {
    // The group has ended, which is what a signal is for.
  }
};

/** Copies stdin to the process; a process that stops reading early is no error. */
const feed = async (source: Readable, target: Writable): Promise<void> => {
  target.on('error', () => source.destroy());
  try {
    for await (const chunk of source) {
      if (!target.write(chunk)) await Promise.race([once(target, 'drain'), once(target, 'close')]);
    }
    target.end();
  } catch {
    target.destroy();
  }
};

/**
 * Copies output at the speed of the reader; resolves at the end of the pipe or of the linger.
 * Listening to 'readable' and not to 'data': Node makes unread output flow when a child exits,
 * which would lose what comes before a listener and override a pause.
 */
const pump = async (
  source: Readable,
  stream: MuxStream,
  channel: Channel,
  ended: Promise<ProcessEnd>,
): Promise<void> => {
  let wake: () => void = () => undefined;
  let finished = false;
  let lingering = false;
  let lingeredBytes = 0;
  const finish = (): void => {
    finished = true;
    wake();
  };
  source.on('readable', () => wake());
  source.on('end', finish).on('error', finish).on('close', finish);
  void ended.then(() => {
    lingering = true;
    wake();
  });
  while (!finished && lingeredBytes <= LINGER_BYTES_MAX) {
    const chunk = source.read() as Buffer | null;
    if (chunk) {
      if (lingering) lingeredBytes += chunk.length;
      await stream.write(channel, chunk);
      continue;
    }
    if (finished) break;
    const wasLingering = lingering;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const timer = wasLingering ? setTimeout(finish, LINGER_QUIET_MS) : undefined;
    await woken;
    clearTimeout(timer);
  }
  source.destroy();
  stream.end(channel);
};
