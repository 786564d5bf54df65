import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { HangarError, HTTP_STATUS, sandboxData, type ErrorCode } from '@hangar/contracts';
import type {
  ExitStatus,
  FileStat,
  RunStatus,
  SandboxRef,
  TerminalSize,
  TerminalStatus,
} from '../sandbox-driver.ts';

/** How values of the seam look on the wire, in both directions. */

export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGKILL';

export const fromSignal = (signal: string): SignalName => {
  if (signal === 'SIGINT' || signal === 'SIGTERM' || signal === 'SIGKILL') return signal;
  throw new HangarError('invalid', 'The request names no signal that can be sent.');
};

type ExitInit = MessageInitShape<typeof sandboxData.ExitSchema>;

export const toExit = (exit: ExitStatus): ExitInit => {
  switch (exit.kind) {
    case 'exited':
      return { kind: { case: 'exitedCode', value: exit.code } };
    case 'signalled':
      return { kind: { case: 'signal', value: exit.signal } };
    case 'not_started':
      return { kind: { case: 'notStartedError', value: exit.error } };
    case 'timed_out':
      return { kind: { case: 'timedOut', value: true } };
    case 'connection_lost':
      return { kind: { case: 'connectionLost', value: true } };
    case 'sandbox_gone':
      return { kind: { case: 'sandboxGone', value: true } };
  }
};

export const fromExit = (exit: sandboxData.Exit | undefined): ExitStatus => {
  switch (exit?.kind.case) {
    case 'exitedCode':
      return { kind: 'exited', code: exit.kind.value };
    case 'signal':
      return { kind: 'signalled', signal: exit.kind.value };
    case 'notStartedError':
      return { kind: 'not_started', error: exit.kind.value };
    case 'timedOut':
      return { kind: 'timed_out' };
    case 'sandboxGone':
      return { kind: 'sandbox_gone' };
    default:
      return { kind: 'connection_lost' };
  }
};

export const toRunStatus = (
  status: RunStatus,
): MessageInitShape<typeof sandboxData.RunStatusResponseSchema> => {
  const { state } = status;
  if (state === 'unknown') return { state };
  const sizes = { outBytes: BigInt(status.outBytes), errBytes: BigInt(status.errBytes) };
  return state === 'running' ? { state, ...sizes } : { state, exit: toExit(status.exit), ...sizes };
};

export const fromRunStatus = (status: sandboxData.RunStatusResponse): RunStatus => {
  const sizes = { outBytes: Number(status.outBytes), errBytes: Number(status.errBytes) };
  switch (status.state) {
    case 'unknown':
      return { state: 'unknown' };
    case 'running':
      return { state: 'running', ...sizes };
    case 'exited':
      return { state: 'exited', exit: fromExit(status.exit), ...sizes };
    default:
      throw new HangarError('internal', 'The sandboxes service gave a run no state.');
  }
};

export const toStat = (
  stat: FileStat | null,
): MessageInitShape<typeof sandboxData.StatFileResponseSchema> =>
  stat === null
    ? { absent: true }
    : { kind: stat.kind, size: BigInt(stat.size), mode: stat.mode, mtimeMs: stat.mtimeMs };

export const fromStat = (stat: sandboxData.StatFileResponse): FileStat | null => {
  if (stat.absent) return null;
  const kind = stat.kind === 'file' || stat.kind === 'directory' ? stat.kind : 'other';
  return { kind, size: Number(stat.size), mode: stat.mode, mtimeMs: stat.mtimeMs };
};

/** A terminal's size when the caller names none. */
const COLS_DEFAULT = 80;
const ROWS_DEFAULT = 24;

export const fromSize = (size: sandboxData.Size | undefined): TerminalSize => ({
  cols: size?.cols || COLS_DEFAULT,
  rows: size?.rows || ROWS_DEFAULT,
});

export const toTerminal = (
  terminal: TerminalStatus,
): MessageInitShape<typeof sandboxData.TerminalSchema> => ({
  terminalId: terminal.id,
  createdAtMs: terminal.createdAt.getTime(),
  size: { cols: terminal.cols, rows: terminal.rows },
  viewers: terminal.viewers,
  printed: BigInt(terminal.printed),
  ...(terminal.exit ? { exit: toExit(terminal.exit) } : {}),
});

export const fromTerminal = (terminal: sandboxData.Terminal): TerminalStatus => ({
  id: terminal.terminalId,
  createdAt: new Date(terminal.createdAtMs),
  ...fromSize(terminal.size),
  viewers: terminal.viewers,
  printed: Number(terminal.printed),
  exit: terminal.exit ? fromExit(terminal.exit) : null,
});

export const fromTarget = (target: sandboxData.Target | undefined): SandboxRef => {
  if (!target?.sandboxId) throw new HangarError('invalid', 'The request names no sandbox.');
  return { id: target.sandboxId, instance: target.instance };
};

export const fromProcess = (
  process: sandboxData.Process | undefined,
): { argv: string[]; cwd?: string; envVars: Record<string, string> } => {
  if (!process) throw new HangarError('invalid', 'The request names no command.');
  const { argv, cwd, envVars } = process;
  return { argv, envVars, ...(cwd === undefined ? {} : { cwd }) };
};

const CODES: Record<ErrorCode, Code> = {
  invalid: Code.InvalidArgument,
  not_found: Code.NotFound,
  conflict: Code.Aborted,
  forbidden: Code.PermissionDenied,
  unauthenticated: Code.Unauthenticated,
  exhausted: Code.ResourceExhausted,
  unavailable: Code.Unavailable,
  internal: Code.Internal,
};

export const toConnectError = (error: unknown): ConnectError => {
  if (error instanceof ConnectError) return error;
  const { code, message, hint } = HangarError.from(error);
  const detail = { code, detail: message, ...(hint === undefined ? {} : { hint }) };
  return new ConnectError(message, CODES[code], undefined, [
    { desc: sandboxData.ErrorDetailSchema, value: create(sandboxData.ErrorDetailSchema, detail) },
  ]);
};

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(HTTP_STATUS, code);

/** The HangarError that the service threw, or null when it was the connection that failed. */
export const findHangarError = (error: unknown): HangarError | null => {
  if (error instanceof HangarError) return error;
  if (!(error instanceof ConnectError)) return null;
  const [found] = error.findDetails(sandboxData.ErrorDetailSchema);
  if (found && isErrorCode(found.code)) {
    return new HangarError(found.code, found.detail, found.hint ? { hint: found.hint } : {});
  }
  if (error.code === Code.Unauthenticated) {
    return new HangarError('unauthenticated', 'The sandboxes service does not know this token.');
  }
  return null;
};

/** Anything thrown by a call; what the service did not say is a lost connection. */
export const toHangarError = (error: unknown): HangarError =>
  findHangarError(error) ??
  new HangarError('unavailable', 'The connection to the sandboxes service was lost.', {
    cause: error,
    hint: 'Try again; nothing is known about what was under way.',
  });
