import { randomUUID } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { HangarError } from '@hangar/contracts';
import type {
  AnswerCredential,
  CredentialAnswer,
  CredentialRequest,
  DriverCapabilities,
  ExecRequest,
  ExecStream,
  ExitStatus,
  RunFollow,
  SandboxDriver,
  SandboxRef,
  SandboxSpec,
  SandboxStatus,
  SandboxTerminals,
} from '../sandbox-driver.ts';
import { FakeFiles } from './fake-files.ts';
import { FakeRun } from './fake-run.ts';
import { FakeTerminal } from './fake-terminal.ts';

/** An exec as its script sees it. */
export interface FakeExec {
  ref: SandboxRef;
  argv: string[];
  cwd: string | undefined;
  envVars: Record<string, string>;
  stdin: Buffer;
  timeoutMs: number | undefined;
  quiet: boolean;
  files: FakeFiles;
}

export interface FakeExecResult {
  stdout?: string | Uint8Array;
  stderr?: string | Uint8Array;
  exit?: ExitStatus;
}

export interface FakeDriverOptions {
  /** Plays every command; without it each one succeeds and prints nothing. */
  exec?: (exec: FakeExec) => FakeExecResult | Promise<FakeExecResult>;
  /**
   * Plays a command that talks while its stdin is open: what it yields is its stdout, and it exits
   * with 0 at the end, with 1 when it throws. Null leaves the command to `exec`.
   */
  converse?: (
    exec: Omit<FakeExec, 'stdin'>,
    stdin: Readable,
  ) => AsyncIterable<string | Uint8Array> | null;
  /** Plays every run; without it each one succeeds at once. */
  run?: (run: FakeRun, ref: SandboxRef) => void;
  /** Plays every terminal; without it each one shows what is typed and ends at Ctrl-D. */
  terminal?: (terminal: FakeTerminal, ref: SandboxRef) => void;
}

export interface FakeDriver extends SandboxDriver {
  /** Switches: what is set holds for every call from then on. */
  readonly faults: { isUnreachable: boolean; slowMs: number; createFails: HangarError | null };
  /** Every exec that reached a sandbox, oldest first. */
  readonly execs: FakeExec[];
  /** The sandbox's processes end; it is `stopped` and what was under way is `sandbox_gone`. */
  vanish(id: string): void;
  run(id: string, runId: string): FakeRun | undefined;
  terminal(id: string, terminalId: string): FakeTerminal | undefined;
  /** As a process in the sandbox asks; null when nobody answers there. */
  askCredential(id: string, request: CredentialRequest): Promise<CredentialAnswer | null>;
  files: SandboxDriver['files'];
}

interface FakeSandbox {
  spec: SandboxSpec;
  ref: SandboxRef;
  createdAt: Date;
  stopped: string | null;
  files: FakeFiles;
  runs: Map<string, FakeRun>;
  terminals: Map<string, FakeTerminal>;
  /** Ends what is under way when the sandbox goes. */
  ends: Set<() => void>;
  /** The one that came last answers. */
  credentials: AnswerCredential[];
}

const SANDBOX_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;

const CAPABILITIES: DriverCapabilities = {
  isolation: 'none',
  stablePath: true,
  pty: true,
  networkCut: true,
  limits: { memory: false, cpu: false, pids: false, disk: false },
  survivesControlPlaneRestart: false,
};

/** Sandboxes in memory, for unit tests and demos: commands and runs are played by scripts. */
export const createFakeDriver = (options: FakeDriverOptions = {}): FakeDriver => {
  const sandboxes = new Map<string, FakeSandbox>();
  const execs: FakeExec[] = [];
  const faults: FakeDriver['faults'] = { isUnreachable: false, slowMs: 0, createFails: null };
  const reach = async (): Promise<void> => {
    if (faults.slowMs > 0) await new Promise((resolve) => setTimeout(resolve, faults.slowMs));
    if (faults.isUnreachable) throw new HangarError('unavailable', 'The fake is unreachable.');
  };
  const find = async (ref: SandboxRef): Promise<FakeSandbox | null> => {
    await reach();
    const found = sandboxes.get(ref.id);
    return found && found.stopped === null && found.ref.instance === ref.instance ? found : null;
  };
  const require = async (ref: SandboxRef): Promise<FakeSandbox> => {
    const found = await find(ref);
    if (found) return found;
    throw new HangarError('not_found', `The sandbox ${ref.id} is gone.`);
  };
  return {
    kind: 'fake',
    faults,
    execs,
    ...lifecycle(sandboxes, faults, reach),
    run: (id, runId) => sandboxes.get(id)?.runs.get(runId),
    terminal: (id, terminalId) => sandboxes.get(id)?.terminals.get(terminalId),
    async askCredential(id, request) {
      const answer = sandboxes.get(id)?.credentials.at(-1);
      return answer ? answer(request, new AbortController().signal) : null;
    },
    async serveCredentials(ref, answer, signal) {
      const sandbox = await find(ref);
      if (!sandbox || signal.aborted) return;
      const over = Promise.withResolvers<void>();
      const end = (): void => over.resolve();
      sandbox.credentials.push(answer);
      sandbox.ends.add(end);
      signal.addEventListener('abort', end);
      await over.promise;
      sandbox.credentials = sandbox.credentials.filter((each) => each !== answer);
      sandbox.ends.delete(end);
    },
    async exec(ref, request) {
      const sandbox = await find(ref);
      return sandbox ? playExec(sandbox, request, options, execs) : goneExec();
    },
    terminals: playTerminals(require, options),
    runs: playRuns(find, require, options),
    files: {
      put: async (ref, path, body, put) => (await require(ref)).files.put(path, body, put),
      get: async (ref, path, get) => (await require(ref)).files.get(path, get?.from),
      stat: async (ref, path) => (await require(ref)).files.stat(path),
      remove: async (ref, path) => (await require(ref)).files.remove(path),
    },
  };
};

const checkId = (id: string): void => {
  if (!SANDBOX_ID.test(id)) throw new HangarError('invalid', `${id} cannot name a sandbox.`);
};

const statusOf = ({ spec, ref, stopped }: FakeSandbox): SandboxStatus => {
  if (stopped !== null) return { phase: 'stopped', ref, reason: stopped };
  const mounts = Object.fromEntries(spec.mounts.map(({ target }) => [target, target]));
  const home = '/home/agent';
  const tools = '/run/hangar/tools';
  const paths = { home, workspace: '/workspace', node: '/run/hangar/node', tools, mounts };
  return { phase: 'ready', ref, paths };
};

const lifecycle = (
  sandboxes: Map<string, FakeSandbox>,
  faults: FakeDriver['faults'],
  reach: () => Promise<void>,
): Pick<SandboxDriver, 'probe' | 'create' | 'get' | 'list' | 'destroy' | 'close'> & {
  vanish: (id: string) => void;
} => {
  const stop = (sandbox: FakeSandbox, reason: string): void => {
    sandbox.stopped = reason;
    for (const run of sandbox.runs.values()) run.exit({ kind: 'sandbox_gone' });
    for (const each of sandbox.terminals.values()) each.exit({ kind: 'sandbox_gone' });
    for (const end of sandbox.ends) end();
  };
  return {
    probe: () => Promise.resolve({ capabilities: CAPABILITIES, problems: [] }),
    async create(spec, signal) {
      checkId(spec.id);
      await reach();
      signal?.throwIfAborted();
      if (faults.createFails) throw faults.createFails;
      const found = sandboxes.get(spec.id);
      if (found?.stopped != null) {
        throw new HangarError('conflict', `The sandbox ${spec.id} exists and has stopped.`);
      }
      if (found) return found.ref;
      const ref = { id: spec.id, instance: randomUUID() };
      const parts = {
        files: new FakeFiles(),
        runs: new Map(),
        terminals: new Map(),
        ends: new Set<() => void>(),
        credentials: [],
      };
      sandboxes.set(spec.id, { spec, ref, createdAt: new Date(), stopped: null, ...parts });
      return ref;
    },
    async get(id) {
      await reach();
      const found = sandboxes.get(id);
      return found ? statusOf(found) : null;
    },
    async list() {
      await reach();
      return [...sandboxes.values()].map((sandbox) => ({
        id: sandbox.spec.id,
        sessionId: sandbox.spec.sessionId,
        status: statusOf(sandbox),
        createdAt: sandbox.createdAt,
      }));
    },
    async destroy(id) {
      await reach();
      const found = sandboxes.get(id);
      sandboxes.delete(id);
      if (found) stop(found, 'it was destroyed');
    },
    vanish(id) {
      const found = sandboxes.get(id);
      if (found) stop(found, 'its processes have ended');
    },
    close: () => Promise.resolve(),
  };
};

const playExec = async (
  sandbox: FakeSandbox,
  request: ExecRequest,
  options: FakeDriverOptions,
  execs: FakeExec[],
): Promise<ExecStream> => {
  const { argv, cwd, envVars, stdin, timeoutMs, quiet } = request;
  const about = {
    ref: sandbox.ref,
    argv,
    cwd,
    envVars: { ...sandbox.spec.envVars, ...envVars },
    timeoutMs,
    quiet: quiet === true,
    files: sandbox.files,
  };
  const talk = stdin instanceof Readable ? options.converse?.(about, stdin) : null;
  if (talk) {
    execs.push({ ...about, stdin: Buffer.alloc(0) });
    return playTalk(sandbox, request, talk);
  }
  const exec: FakeExec = {
    ...about,
    stdin: stdin instanceof Readable ? await buffer(stdin) : Buffer.from(stdin ?? []),
  };
  execs.push(exec);
  const killed = Promise.withResolvers<FakeExecResult>();
  const played = Promise.resolve(options.exec?.(exec) ?? {});
  // A command that is still being played when it is killed prints nothing more.
  const result = Promise.race([played, killed.promise]);
  const kill = (signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    killed.resolve({ exit: { kind: 'signalled', signal } });
    return Promise.resolve();
  };
  request.signal?.addEventListener('abort', () => void kill('SIGKILL'));
  sandbox.ends.add(() => killed.resolve({ exit: { kind: 'sandbox_gone' } }));
  const lines = async function* (pick: 'stdout' | 'stderr'): AsyncGenerator<Buffer> {
    const text = (await result)[pick];
    if (text !== undefined && text.length > 0) yield Buffer.from(text);
  };
  return {
    stdout: Readable.from(lines('stdout'), { objectMode: false }),
    stderr: Readable.from(lines('stderr'), { objectMode: false }),
    exit: result.then(({ exit }) => exit ?? { kind: 'exited', code: 0 }),
    kill,
  };
};

const playTalk = (
  sandbox: FakeSandbox,
  request: ExecRequest,
  talk: AsyncIterable<string | Uint8Array>,
): ExecStream => {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const exit = Promise.withResolvers<ExitStatus>();
  const end = (status: ExitStatus): void => {
    stdout.end();
    stderr.end();
    exit.resolve(status);
  };
  const say = async (): Promise<void> => {
    for await (const chunk of talk) {
      // What is killed prints nothing more.
      if (stdout.writableEnded) return;
      stdout.write(chunk);
    }
  };
  void say().then(
    () => end({ kind: 'exited', code: 0 }),
    () => end({ kind: 'exited', code: 1 }),
  );
  const kill: ExecStream['kill'] = (signal = 'SIGTERM') => {
    end({ kind: 'signalled', signal });
    return Promise.resolve();
  };
  request.signal?.addEventListener('abort', () => void kill('SIGKILL'));
  sandbox.ends.add(() => end({ kind: 'sandbox_gone' }));
  return { stdout, stderr, exit: exit.promise, kill };
};

const gone = (): RunFollow => ({
  stdout: Readable.from([]),
  stderr: Readable.from([]),
  exit: Promise.resolve({ kind: 'sandbox_gone' }),
});

const goneExec = (): ExecStream => ({ ...gone(), kill: () => Promise.resolve() });

const playRuns = (
  find: (ref: SandboxRef) => Promise<FakeSandbox | null>,
  require: (ref: SandboxRef) => Promise<FakeSandbox>,
  options: FakeDriverOptions,
): SandboxDriver['runs'] => {
  const requireRun = async (ref: SandboxRef, id: string): Promise<FakeRun> => {
    const run = (await require(ref)).runs.get(id);
    if (run) return run;
    throw new HangarError('not_found', `This sandbox never heard of the run ${id}.`);
  };
  return {
    async start(ref, id, request) {
      const { runs } = await require(ref);
      if (runs.has(id)) return;
      const run = new FakeRun(id, request);
      runs.set(id, run);
      if (options.run) options.run(run, ref);
      else run.exit();
    },
    async follow(ref, id, from, signal) {
      return (await find(ref)) ? (await requireRun(ref, id)).follow(from, signal) : gone();
    },
    async input(ref, id, key, chunk) {
      (await requireRun(ref, id)).say(key, chunk);
    },
    async kill(ref, id, signal) {
      (await requireRun(ref, id)).kill(signal);
    },
    async status(ref, id) {
      return (await require(ref)).runs.get(id)?.status() ?? { state: 'unknown' };
    },
  };
};

const playTerminals = (
  require: (ref: SandboxRef) => Promise<FakeSandbox>,
  options: FakeDriverOptions,
): SandboxTerminals => ({
  async open(ref, id, request) {
    const { terminals } = await require(ref);
    if (terminals.has(id)) return;
    const terminal = new FakeTerminal(id, request);
    terminals.set(id, terminal);
    options.terminal?.(terminal, ref);
  },
  async attach(ref, id, { from, size }) {
    const terminal = (await require(ref)).terminals.get(id);
    if (terminal) return terminal.attach(from, size);
    throw new HangarError('not_found', `There is no terminal ${id} here.`);
  },
  async list(ref) {
    return [...(await require(ref)).terminals.values()].map((each) => each.status());
  },
  async close(ref, id) {
    const { terminals } = await require(ref);
    terminals.get(id)?.exit({ kind: 'signalled', signal: 'SIGHUP' });
    terminals.delete(id);
  },
});
