import { HangarError, type ErrorCode } from '@hangar/contracts';
import {
  TERMINALS_MAX,
  type ExitStatus,
  type FileStat,
  type RunStatus,
  type TerminalSize,
  type TerminalStatus,
} from '../sandbox-driver.ts';
import type { MuxStream } from './wire/mux-stream.ts';

/** An operation of sandboxd with one small answer takes at most this long. */
const ANSWER_MS = 60_000;
/** Texts from inside a sandbox are cut to this many characters. */
const TEXT_MAX = 2000;

/**
 * What comes out of a sandbox is the agent's word: every field is checked before it is used,
 * and anything else is `internal`, never undefined behaviour further on.
 */
const ERROR_CODES: readonly string[] = [
  'invalid',
  'not_found',
  'conflict',
  'exhausted',
  'unavailable',
  'internal',
] satisfies ErrorCode[];

type Document = Record<string, unknown>;

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const malformed = (what: string): HangarError =>
  new HangarError('internal', `The sandbox gave a malformed ${what}.`);

const readText = (value: unknown): string => String(value).slice(0, TEXT_MAX);

const readCount = (value: unknown, what: string): number => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(what);
};

/** Rejects with `unavailable` after ANSWER_MS and gives the stream up. */
export const withDeadline = async <T>(answer: Promise<T>, stream: MuxStream): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      stream.cancel();
      reject(new HangarError('unavailable', `The sandbox gave no answer in ${ANSWER_MS} ms.`));
    }, ANSWER_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
};

export const throwWireError = (answer: unknown): void => {
  if (!isDocument(answer) || !isDocument(answer.error)) return;
  const { code, detail, hint } = answer.error;
  const known = ERROR_CODES.includes(String(code)) ? (code as ErrorCode) : 'internal';
  throw new HangarError(
    known,
    readText(detail),
    typeof hint === 'string' ? { hint: readText(hint) } : {},
  );
};

export const readExit = (answer: Document): ExitStatus => {
  throwWireError(answer);
  return readEnd(answer.exit);
};

const readEnd = (exit: unknown): ExitStatus => {
  if (!isDocument(exit)) throw malformed('exit status');
  switch (exit.kind) {
    case 'exited':
      return { kind: 'exited', code: readCount(exit.code, 'exit code') };
    case 'signalled':
      return { kind: 'signalled', signal: readText(exit.signal) };
    case 'not_started':
      return { kind: 'not_started', error: readText(exit.error) };
    case 'timed_out':
      return { kind: 'timed_out' };
    default:
      throw malformed('exit status');
  }
};

export const readStatus = (answer: Document): RunStatus => {
  if (answer.state === 'unknown') return { state: 'unknown' };
  const outBytes = readCount(answer.outBytes, 'run status');
  const errBytes = readCount(answer.errBytes, 'run status');
  if (answer.state === 'running') return { state: 'running', outBytes, errBytes };
  if (answer.state !== 'exited') throw malformed('run status');
  return { state: 'exited', exit: readEnd(answer.exit), outBytes, errBytes };
};

export const readStat = (answer: Document): FileStat | null => {
  if (answer.absent === true) return null;
  const { kind, mtimeMs } = answer;
  if (kind !== 'file' && kind !== 'directory' && kind !== 'other') throw malformed('file status');
  if (typeof mtimeMs !== 'number' || !Number.isFinite(mtimeMs)) throw malformed('file status');
  const size = readCount(answer.size, 'file status');
  return { size, mode: readCount(answer.mode, 'file status') & 0o7777, kind, mtimeMs };
};

export const readPut = (answer: Document): { size: number; sha256: string } => ({
  size: readCount(answer.size, 'file size'),
  sha256: readHash(answer.sha256),
});

export const readSize = (message: unknown): number => {
  if (!isDocument(message)) throw malformed('file size');
  return readCount(message.size, 'file size');
};

export const readHash = (value: unknown): string => {
  if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) return value;
  throw malformed('hash');
};

export const readTerminalSize = (message: unknown): TerminalSize => {
  if (!isDocument(message)) throw malformed('terminal size');
  return {
    cols: readCount(message.cols, 'terminal size'),
    rows: readCount(message.rows, 'terminal size'),
  };
};

export const readView = (message: unknown): TerminalSize & { offset: number } => {
  if (!isDocument(message)) throw malformed('terminal');
  return { offset: readCount(message.offset, 'terminal'), ...readTerminalSize(message) };
};

export const readTerminals = ({ terminals }: Document): TerminalStatus[] => {
  if (!Array.isArray(terminals) || terminals.length > TERMINALS_MAX) throw malformed('list');
  return terminals.map((each: unknown) => {
    if (!isDocument(each)) throw malformed('terminal');
    return {
      id: readText(each.id),
      createdAt: new Date(readCount(each.created_at_ms, 'terminal')),
      ...readTerminalSize(each),
      viewers: readCount(each.viewers, 'terminal'),
      printed: readCount(each.printed, 'terminal'),
      exit: each.exit === null ? null : readEnd(each.exit),
    };
  });
};
