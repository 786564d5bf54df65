import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFile, rm, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isAlive, readProcess, sweepProcesses, type ProcessIdentity } from '../process-table.ts';
import {
  MARKER,
  type ProcessEnd,
  type ProcessRequest,
  type SandboxdConfig,
  type SignalName,
} from '../wire/protocol.ts';
import { signalGroup } from './exec.ts';
import { OperationError } from './operation-error.ts';
import { RunChanges } from './run-changes.ts';
import {
  makeRunDirectory,
  readEnd,
  readIdentity,
  runDirectory,
  writeEnd,
  writeIdentity,
  type RunDirectory,
  type RunEnd,
} from './run-directory.ts';
import { RunInput } from './run-input.ts';
import { isSignalNumber, signalName } from './signal-names.ts';
import { offerToOomKiller, prepareProcess } from './spawn.ts';

/** Output of one run on the sandbox's disk; a run that writes more is killed. */
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024 * 1024;
/** How often the size of the output, and the life of a run taken over, are looked at. */
const CHECK_MS = 500;

/**
 * The wrapper keeps the exit code and the input for the case that sandboxd is killed.
 * `$1` is the run's directory, the rest is the command. The command is not a job in the
 * background, because a shell makes those deaf to SIGINT; so the shell itself survives signals
 * with handlers, which the command does not inherit. The holder keeps the FIFO open for writing
 * until a line comes through `hold`.
 */
const WRAPPER = `
R=$1; shift
trap : HUP INT QUIT TERM USR1 USR2
/bin/sh -c 'trap "" HUP INT QUIT TERM; read -r _' hangar-input <>"$R/hold" >"$R/in" 2>/dev/null &
H=$!
"$@" <"$R/in" >>"$R/out" 2>>"$R/err"
C=$?
kill -9 $H
echo $C >"$R/code.tmp" && mv "$R/code.tmp" "$R/code"
`;

/** Codes above this may be 128 + the signal that ended the command; the shell does not say which. */
const SHELL_SIGNAL_CODE = 128;

const sizeOf = async (path: string): Promise<number> =>
  stat(path).then(
    (found) => found.size,
    () => 0,
  );

/** A process execution that lives as long as it likes, attached or not. */
export class Run {
  readonly id: string;
  readonly directory: RunDirectory;
  readonly changes: RunChanges;
  end: RunEnd | null = null;
  private input: RunInput | undefined;
  private identity: ProcessIdentity | undefined;
  private finishing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(id: string, path: string) {
    this.id = id;
    this.directory = runDirectory(path);
    this.changes = new RunChanges(path);
  }

  /** Starts the command; resolves when it is on its way, also when it could not be started. */
  async start(request: ProcessRequest, stdin: Buffer, config: SandboxdConfig): Promise<void> {
    await makeRunDirectory(this.directory);
    const prepared = await prepareProcess(request, config, { [MARKER.run]: this.id });
    if (!prepared.ok) return this.finish({ kind: 'not_started', error: prepared.error });
    await promisify(execFile)('mkfifo', [this.directory.input, this.directory.hold]);
    this.input = new RunInput(this.directory);
    await this.input.open();
    if (stdin.length > 0) await this.input.add('', stdin, false);
    const argv = ['-c', WRAPPER, 'hangar-run', this.directory.path, prepared.program];
    const child = spawn('/bin/sh', [...argv, ...prepared.argv.slice(1)], {
      cwd: prepared.cwd,
      env: prepared.envVars,
      detached: true,
      stdio: 'ignore',
    });
    const failure = await spawned(child);
    if (failure !== null) return this.finish({ kind: 'not_started', error: failure });
    const process = await readProcess(child.pid!);
    await offerToOomKiller(child.pid!);
    this.identity = { pid: child.pid!, startTicks: process?.startTicks ?? 0 };
    await writeIdentity(this.directory, this.identity);
    if (child.exitCode !== null || child.signalCode !== null) await this.settle();
    else child.once('exit', () => void this.settle());
    this.watch();
  }

  /** Takes over what an earlier sandboxd left; false when it never started. */
  async adopt(): Promise<boolean> {
    this.end = await readEnd(this.directory);
    if (this.end) return true;
    const identity = await readIdentity(this.directory);
    if (!identity) {
      await this.discard();
      return false;
    }
    this.identity = identity;
    this.input = new RunInput(this.directory);
    await this.input.open();
    this.watch();
    return true;
  }

  /** Takes back a start that did not get to its end. */
  async discard(): Promise<void> {
    clearInterval(this.timer);
    await this.input?.close();
    await this.sweep();
    await rm(this.directory.path, { recursive: true, force: true });
  }

  async say(key: string, bytes: Buffer, eof: boolean): Promise<void> {
    if (this.input) return this.input.add(key, bytes, eof);
    throw new OperationError('conflict', `the run ${this.id} has ended`);
  }

  async kill(signal: SignalName): Promise<void> {
    if (signal !== 'SIGKILL') {
      if (!this.end && this.identity) signalGroup(this.identity.pid, signal);
      return;
    }
    await this.sweep();
    if (!this.end) await this.settle();
  }

  async sizes(): Promise<{ outBytes: number; errBytes: number }> {
    if (this.end) return { outBytes: this.end.outBytes, errBytes: this.end.errBytes };
    const { out, err } = this.directory;
    return { outBytes: await sizeOf(out), errBytes: await sizeOf(err) };
  }

  private watch(): void {
    if (this.end) return;
    // A look that failed is repeated at the next one.
    this.timer = setInterval(() => void this.check().catch(() => undefined), CHECK_MS);
  }

  private async check(): Promise<void> {
    const { outBytes, errBytes } = await this.sizes();
    if (outBytes + errBytes > OUTPUT_BYTES_MAX) await this.sweep();
    if (!this.end && this.identity && !(await isAlive(this.identity))) await this.settle();
  }

  private async sweep(): Promise<void> {
    const groups = !this.end && this.identity ? [this.identity.pid] : [];
    await sweepProcesses({ name: MARKER.run, value: this.id }, groups);
  }

  /** The wrapper is gone: its code is on disk, or something killed it before it could say. */
  private settle(): Promise<void> {
    this.finishing ??= this.readCode().then((exit) => this.finish(exit));
    return this.finishing;
  }

  private async readCode(): Promise<ProcessEnd> {
    const text = await readFile(this.directory.code, 'utf8').catch(() => null);
    if (text === null || !/^\d+\s*$/.test(text)) {
      // A command may have outlived its wrapper; a run that is over must have no writer left.
      await this.sweep();
      return { kind: 'signalled', signal: 'SIGKILL' };
    }
    const code = Number(text);
    const signal = code - SHELL_SIGNAL_CODE;
    if (signal > 0 && isSignalNumber(signal)) {
      return { kind: 'signalled', signal: signalName(signal) };
    }
    return { kind: 'exited', code };
  }

  private async finish(exit: ProcessEnd): Promise<void> {
    clearInterval(this.timer);
    const end = { exit, ...(await this.sizes()) };
    // On a full disk the end is known until sandboxd is killed, and then read from the code again.
    await writeEnd(this.directory, end).catch(() => undefined);
    this.end = end;
    await this.input?.close();
    this.changes.close();
  }
}

/** null when the process was started, else why not. */
const spawned = (child: ChildProcess): Promise<string | null> =>
  new Promise((resolve) => {
    child.once('spawn', () => resolve(null));
    child.once('error', (error) => resolve(error.message));
  });
