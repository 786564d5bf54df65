/** What the driver and sandboxd say to each other inside the frames. Both ends import this file. */

export const PROTOCOL_VERSION = 1;

/** Written by the driver, read by sandboxd at start; it names no file outside the sandbox. */
export interface SandboxdConfig {
  token: string;
  instance: string;
  sandboxId: string;
  socketDirectory: string;
  runsDirectory: string;
  /** Default working directory, used once it exists. */
  cwd: string;
  workspace: string;
  /** A directory from which `@lydell/node-pty` resolves; null when there is no terminal support. */
  ptyDirectory: string | null;
}

/** Name of the socket in the socket directory; short, because a socket path has 107 bytes. */
export const SOCKET_NAME = 's';

/** FIFO in the socket directory that takes requests for credentials. */
export const CREDENTIALS_FIFO = 'credentials';
/** Requests of one sandbox that wait at once. */
export const CREDENTIALS_WAITING_MAX = 32;

export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGKILL';

export type Operation =
  | ({ op: 'exec'; timeoutMs: number | null } & ProcessRequest)
  | ({ op: 'runStart'; id: string } & ProcessRequest)
  | { op: 'runFollow'; id: string; out: number; err: number }
  | { op: 'runInput'; id: string; key: string; eof: boolean }
  | { op: 'runKill'; id: string; signal: SignalName }
  | { op: 'runStatus'; id: string }
  | { op: 'put'; path: string; mode: number }
  | { op: 'get'; path: string; from: number }
  | { op: 'stat'; path: string }
  | { op: 'remove'; path: string }
  | ({ op: 'terminalOpen'; id: string; cols: number; rows: number } & ProcessRequest)
  /** Without a size it is watched only. */
  | { op: 'terminalAttach'; id: string; from: number; cols: number | null; rows: number | null }
  | { op: 'terminalList' }
  | { op: 'terminalClose'; id: string }
  /** hangar answers requests for credentials for as long as this goes on. */
  | { op: 'credentials' };

export interface ProcessRequest {
  argv: string[];
  cwd: string | null;
  envVars: Record<string, string>;
}

/** How a process ended, as sandboxd saw it. */
export type ProcessEnd =
  | { kind: 'exited'; code: number }
  | { kind: 'signalled'; signal: string }
  | { kind: 'not_started'; error: string }
  | { kind: 'timed_out' };

/** A failed operation: the code of a HangarError, and texts for a person. */
export interface WireError {
  code: 'invalid' | 'not_found' | 'conflict' | 'exhausted' | 'unavailable' | 'internal';
  detail: string;
  hint?: string;
}

/** Bytes of one `runs.input` chunk, and of a run's first stdin. */
export const INPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Environment variables by which processes of one sandbox, run or exec are found again. */
export const MARKER = {
  sandbox: 'HANGAR_SANDBOX',
  run: 'HANGAR_RUN',
  exec: 'HANGAR_EXEC',
} as const;

/** Names the directory in which `hangar-credential` finds its FIFO. */
export const CREDENTIALS_VARIABLE = 'HANGAR_CREDENTIALS';
