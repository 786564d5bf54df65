import type { Readable } from 'node:stream';

/**
 * The seam to the disposable computer. A driver gets plain values, never entities.
 * Rules for every implementation (the suite `./testing` holds them):
 *  - streams honour back pressure and `AbortSignal`; nothing buffers without a bound;
 *  - `create`, `destroy` and `runs.start` are idempotent by id;
 *  - "not there" is a typed result (`null`, `gone`), never an exception;
 *  - when the driver cannot be asked it throws `HangarError('unavailable')`: unknown is not gone [S5];
 *  - a lost connection is never reported as a command's failure.
 */

export type DriverKind = 'local' | 'docker' | 'kubernetes' | 'fake';

/** What an implementation can do, as data, so that a decision is a rule and not a special case. */
export interface DriverCapabilities {
  isolation: 'namespaces' | 'container' | 'vm' | 'none';
  /** `/workspace/<repo>` and HOME are the same path in every sandbox. */
  stablePath: boolean;
  pty: boolean;
  networkCut: boolean;
  limits: { memory: boolean; cpu: boolean; pids: boolean; disk: boolean };
  survivesControlPlaneRestart: boolean;
}

export interface DriverProblem {
  code: string;
  text: string;
  fix?: string;
}

export interface SandboxSpec {
  /** `sbx-` id; the external name derives from it, so that a second create finds the first. */
  id: string;
  sessionId: string;
  /** Where the harness works, e.g. `/workspace/app`. */
  cwd: string;
  /** Environment variables of every process; no secrets (those go per run). */
  envVars: Record<string, string>;
  network: 'open' | 'none';
  mounts: { source: string; target: string; readOnly: boolean }[];
  resources: { memoryMb?: number; cpus?: number; pids?: number };
  /** git asks hangar for its credentials, and nobody else. */
  gitCredentials?: boolean;
}

/** `instance` changes when the same name is a new computer: the workspace may be empty then. */
export interface SandboxRef {
  id: string;
  instance: string;
}

/** Absolute paths as processes inside the sandbox see them. */
export interface SandboxPaths {
  home: string;
  /** The repository is at `<workspace>/<repo>`. */
  workspace: string;
  /** A Node binary (>= 24) for hangar's own tools and for harnesses written in JavaScript. */
  node: string;
  /** Read-only directory with hangar's single-file tools. */
  tools: string;
  /** Where `mounts` were put: target as asked -> path inside (equal unless isolation is `none`). */
  mounts: Record<string, string>;
}

export type SandboxStatus =
  | { phase: 'ready'; ref: SandboxRef; paths: SandboxPaths }
  | { phase: 'stopped'; ref: SandboxRef; reason: string };

export type ExitStatus =
  | { kind: 'exited'; code: number }
  | { kind: 'signalled'; signal: string }
  | { kind: 'not_started'; error: string }
  | { kind: 'timed_out' }
  | { kind: 'connection_lost' }
  | { kind: 'sandbox_gone' };

export interface ExecRequest {
  argv: string[];
  cwd?: string;
  envVars?: Record<string, string>;
  stdin?: Readable | Uint8Array;
  /** Past it the whole process group is killed and the exit is `timed_out`. */
  timeoutMs?: number;
  /** hangar's own probes: neither an activity [X4] nor audited. */
  quiet?: boolean;
  signal?: AbortSignal;
}

export interface ExecStream {
  stdout: Readable;
  stderr: Readable;
  /** Resolves once, after both streams have been read to their end or destroyed. */
  exit: Promise<ExitStatus>;
  kill(signal?: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** A process execution that goes on when nobody is attached [M6]. */
export interface RunRequest {
  argv: string[];
  cwd: string;
  envVars: Record<string, string>;
  /** First bytes for stdin; the FIFO stays open for `input`. */
  stdin?: Uint8Array;
}

export type RunStatus =
  | { state: 'running'; outBytes: number; errBytes: number }
  | { state: 'exited'; exit: ExitStatus; outBytes: number; errBytes: number }
  /** This sandbox never heard of the run. */
  | { state: 'unknown' };

export interface RunFollow {
  /** stdout bytes from the asked offset; ends when the run has ended and all was read. */
  stdout: Readable;
  stderr: Readable;
  exit: Promise<ExitStatus>;
}

export interface DetachedRuns {
  /** Starts `id` once; a second start with the same id is quiet. */
  start(ref: SandboxRef, id: string, run: RunRequest): Promise<void>;
  follow(
    ref: SandboxRef,
    id: string,
    from: { out: number; err: number },
    signal?: AbortSignal,
  ): Promise<RunFollow>;
  /**
   * Appends to the run's stdin, once per `key`: a key already written is quiet, so a service
   * that comes back and replays the output may say everything again [M6]. `eof` closes stdin.
   */
  input(ref: SandboxRef, id: string, key: string, chunk: Uint8Array | 'eof'): Promise<void>;
  /** Signals the run's process group, and for SIGKILL everything the run left behind. */
  kill(ref: SandboxRef, id: string, signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void>;
  status(ref: SandboxRef, id: string): Promise<RunStatus>;
}

export interface FileStat {
  size: number;
  mode: number;
  kind: 'file' | 'directory' | 'other';
  mtimeMs: number;
}

export interface SandboxFiles {
  /** Writes atomically (temporary file, rename), makes parent directories, returns the hash of what is on disk. */
  put(
    ref: SandboxRef,
    path: string,
    body: Readable | Uint8Array,
    options?: { mode?: number; signal?: AbortSignal },
  ): Promise<{ size: number; sha256: string }>;
  /** `sha256` resolves when `body` has been read to its end; null when there is no such file. */
  get(
    ref: SandboxRef,
    path: string,
    options?: { from?: number; signal?: AbortSignal },
  ): Promise<{ size: number; body: Readable; sha256: Promise<string> } | null>;
  stat(ref: SandboxRef, path: string): Promise<FileStat | null>;
  remove(ref: SandboxRef, path: string): Promise<void>;
}

export interface TerminalSize {
  cols: number;
  rows: number;
}

export interface TerminalRequest extends TerminalSize {
  argv: string[];
  cwd?: string;
  envVars?: Record<string, string>;
}

export interface TerminalStatus extends TerminalSize {
  id: string;
  createdAt: Date;
  /** Attached with a size of their own. */
  viewers: number;
  /** Bytes printed so far: the offset at which the next one will be. */
  printed: number;
  /** null: its process goes on. */
  exit: ExitStatus | null;
}

export interface TerminalView extends TerminalSize {
  /** Place of the first byte of `output`; above the asked one, what is between them is not kept. */
  offset: number;
  /**
   * Ends with the terminal, or when it is detached. A reader that falls behind by more than the
   * scrollback is cut off with `connection_lost`: it comes back from the offset that it has.
   */
  output: Readable;
  /** Called with every size that the terminal takes from now on. */
  onResize(listener: (size: TerminalSize) => void): void;
  write(bytes: Uint8Array): Promise<void>;
  /** The size of this viewer; the terminal has that of the one who was the last to do something. */
  resize(cols: number, rows: number): Promise<void>;
  exit: Promise<ExitStatus>;
  /** Leaves; the terminal goes on. */
  detach(): Promise<void>;
}

/**
 * Terminals that go on when nobody is attached [X8]: they end with their process, with `close` or
 * with the sandbox. The newest `SCROLLBACK_BYTES_MAX` of what each printed are kept, also after its
 * end; an ended one is forgotten when its place is needed.
 */
export interface SandboxTerminals {
  /** Starts `id` once; a second one with the same id is quiet. `invalid` when it cannot be started. */
  open(ref: SandboxRef, id: string, request: TerminalRequest): Promise<void>;
  /**
   * What it printed from an offset on, and what it prints from now on. Without a `size` it is
   * watched, and nobody is counted as there. `not_found` when the sandbox does not know it.
   */
  attach(
    ref: SandboxRef,
    id: string,
    view: { from: number; size: TerminalSize | null },
    signal?: AbortSignal,
  ): Promise<TerminalView>;
  list(ref: SandboxRef): Promise<TerminalStatus[]>;
  /** Hangs it up, kills what is left in it, and forgets it; quiet when it is not there. */
  close(ref: SandboxRef, id: string): Promise<void>;
}

/** What is kept of the output of one terminal: 1 MiB. */
export const SCROLLBACK_BYTES_MAX = 1024 * 1024;
/** Terminals of one sandbox; the oldest that has ended makes room. */
export const TERMINALS_MAX = 16;
/** Attached to one terminal at once. */
export const VIEWERS_MAX = 16;

/** The data plane: bytes into and out of one sandbox. Also served remotely (`./remote`). */
export interface SandboxIo {
  exec(ref: SandboxRef, request: ExecRequest): Promise<ExecStream>;
  runs: DetachedRuns;
  files: SandboxFiles;
  terminals: SandboxTerminals;
}

/**
 * What a process in the sandbox wants of hangar, as `hangar-credential` was asked: `operation` is
 * `secret` (with `name`), or `get` or `erase` with the attributes of git's credential helpers.
 */
export type CredentialRequest = Record<string, string>;

/** What is printed for the asker, or why not, in words for it. */
export type CredentialAnswer = { output: string } | { refused: string };

/** An error that is thrown refuses, too. The signal says that nobody waits any more. */
export type AnswerCredential = (
  request: CredentialRequest,
  signal: AbortSignal,
) => Promise<CredentialAnswer>;

export interface SandboxDriver extends SandboxIo {
  readonly kind: DriverKind;
  /** For `hangar doctor` and the start banner: what works here and what to fix. */
  probe(): Promise<{ capabilities: DriverCapabilities; problems: DriverProblem[] }>;
  /** Idempotent by `spec.id`; resolves when the sandbox answers. */
  create(spec: SandboxSpec, signal?: AbortSignal): Promise<SandboxRef>;
  /** null: it does not exist (never made, or destroyed). */
  get(id: string): Promise<SandboxStatus | null>;
  /** Everything of ours on this driver, dead or alive: the truth for the reaper and orphans [X5]. */
  list(): Promise<{ id: string; sessionId: string; status: SandboxStatus; createdAt: Date }[]>;
  /**
   * Answers the sandbox's requests for credentials [Z3]: who asks is known by the connection, so
   * that nothing inside has to be kept secret or revoked. Not part of `SandboxIo`: only the owner
   * of the sandboxes answers. Resolves when the sandbox is gone or the signal says so; throws
   * `unavailable` on a lost connection. Of several that answer, the one that came last is asked.
   */
  serveCredentials(ref: SandboxRef, answer: AnswerCredential, signal: AbortSignal): Promise<void>;
  /** Ends every process and removes all disk state. Idempotent, from any state. */
  destroy(id: string): Promise<void>;
  close(): Promise<void>;
}
