import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { HangarError } from '@hangar/contracts';

/** How a server is started: `signal` asks it to stop, `removeAfter` is deleted once it is gone. */
export interface LeashOptions {
  file: string;
  args: string[];
  user?: { uid: number; gid: number };
  signal: 'TERM' | 'INT';
  environment?: NodeJS.ProcessEnv;
  removeAfter?: string;
  /** The server never keeps our process alive (tests that share one server between files). */
  unref?: boolean;
}

export interface Leashed {
  /** The process id of the server itself, not of the shell that holds its leash. */
  readonly pid: number;
  /** Resolves with the last lines of the log when the server has ended, for whatever reason. */
  readonly gone: Promise<string>;
  log(): string;
  /** Resolves once `text` appears in the log; rejects if the server ends first. */
  ready(text: string, withinMs: number): Promise<void>;
  stop(): Promise<void>;
}

const LOG_CHARACTERS_MAX = 16_000;
const STOP_MS_MAX = 10_000;
const LOG_END_MS_MAX = 500;

/**
 * The shell starts the server with its output on stderr and prints its process id on stdout.
 * Descriptor 3 is the leash: when our end closes, however we end, the server gets its signal.
 */
const script = (signal: string): string =>
  `"$@" </dev/null >&2 & p=$!; echo $p; (read _; kill -${signal} $p) <&3 >/dev/null 2>&1 & ` +
  'wait $p; code=$?; if [ -n "$HANGAR_LEASH_REMOVE" ]; then rm -rf "$HANGAR_LEASH_REMOVE"; fi; ' +
  'exit $code';

/**
 * Runs a server detached, so that a Ctrl-C sent to the whole process group does not stop it
 * before its users, and on a leash, so that it never outlives us, not even after a kill -9.
 */
export async function leash(options: LeashOptions): Promise<Leashed> {
  const { file, args, user = {}, signal } = options;
  const env = { ...(options.environment ?? process.env) };
  if (options.removeAfter) env['HANGAR_LEASH_REMOVE'] = options.removeAfter;
  const child = spawn('/bin/sh', ['-c', script(signal), 'leash', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
    cwd: '/',
    env,
    ...user,
  });
  const rope = child.stdio[3] as Writable;
  rope.on('error', () => rope.destroy());
  let log = '';
  const changed = new Set<() => void>();
  child.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-LOG_CHARACTERS_MAX);
    for (const wake of changed) wake();
  });
  const gone = ended(child, rope).then(() => log);
  const pid = await firstLine(child);
  if (options.unref) unref(child);
  return {
    pid,
    gone,
    log: () => log,
    ready: (text, withinMs) => waitForText({ text, withinMs, log: () => log, changed, gone, file }),
    stop: () => stop(child, rope, pid, gone),
  };
}

/** Orphans of the server may keep its stderr open, so the end of the log is waited for briefly. */
async function ended(child: ChildProcess, rope: Writable): Promise<void> {
  const closed = once(child, 'close');
  await once(child, 'exit');
  rope.destroy();
  const patience = new AbortController();
  const late = delay(LOG_END_MS_MAX, undefined, { signal: patience.signal, ref: false });
  await Promise.race([closed, late.catch(() => undefined)]);
  patience.abort();
}

async function firstLine(child: ChildProcess): Promise<number> {
  const stdout = child.stdout as Readable;
  let text = '';
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  stdout.resume();
  const pid = Number.parseInt(text, 10);
  if (!Number.isInteger(pid)) throw new HangarError('internal', 'the server could not be started');
  return pid;
}

function unref(child: ChildProcess): void {
  child.unref();
  for (const stream of child.stdio) (stream as unknown as { unref?(): void } | null)?.unref?.();
}

interface TextWait {
  text: string;
  withinMs: number;
  log: () => string;
  changed: Set<() => void>;
  gone: Promise<string>;
  file: string;
}

async function waitForText(wait: TextWait): Promise<void> {
  const seen = Promise.withResolvers<void>();
  const look = (): void => {
    if (wait.log().includes(wait.text)) seen.resolve();
  };
  wait.changed.add(look);
  look();
  const timer = setTimeout(
    () => seen.reject(failure(`${wait.file} was not ready in ${wait.withinMs} ms`, wait.log())),
    wait.withinMs,
  );
  void wait.gone.then((log) => seen.reject(failure(`${wait.file} ended at its start`, log)));
  try {
    await seen.promise;
  } finally {
    clearTimeout(timer);
    wait.changed.delete(look);
  }
}

const failure = (message: string, log: string): HangarError =>
  new HangarError('unavailable', `${message}: ${log.slice(-1500).trim()}`);

async function stop(
  child: ChildProcess,
  rope: Writable,
  pid: number,
  gone: Promise<string>,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  rope.end();
  const timer = setTimeout(() => kill(pid), STOP_MS_MAX);
  await gone;
  clearTimeout(timer);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
