import { HangarError } from '@hangar/contracts';
import type { SandboxPlace } from '@hangar/contracts';
import type { SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';

/** The report of one call; a sandbox that sends more is not telling about a checkpoint. */
export const REPORT_BYTES_MAX = 32 * 1024 * 1024;
const STDERR_BYTES_MAX = 16 * 1024;
export const TOOL = 'hangar-checkpoint.mjs';
/** Tens of thousands of paths live until the end: collecting them again and again is for nothing. */
export const NODE_FLAGS = ['--max-semi-space-size=32'];

/** The tool said no, with a code of its own; trying again gives the same. */
export class ToolRefusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The sandbox ended: what was asked can never be answered. */
export class SandboxGone extends Error {}

export const refOf = (place: SandboxPlace): SandboxRef => ({
  id: place.sandbox_id,
  instance: place.instance,
});

export interface CallOptions {
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * One call of the checkpoint tool inside the sandbox: a request in, a report out. The report is
 * what some process there printed: check it before it is used (tool-reports.ts).
 */
export async function callTool(
  io: SandboxIo,
  place: SandboxPlace,
  verb: 'capture' | 'restore' | 'fingerprint' | 'changes',
  request: object,
  options: CallOptions,
): Promise<object> {
  const stream = await io.exec(refOf(place), {
    argv: [place.node, ...NODE_FLAGS, `${place.tools}/${TOOL}`, verb],
    cwd: place.home,
    stdin: Buffer.from(JSON.stringify(request)),
    quiet: true,
    ...options,
  });
  const out: Buffer[] = [];
  let size = 0;
  let err = '';
  stream.stdout.on('data', (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size <= REPORT_BYTES_MAX) out.push(chunk);
  });
  stream.stderr.on('data', (chunk: Buffer) => {
    err = (err + chunk.toString('utf8')).slice(-STDERR_BYTES_MAX);
  });
  const exit = await stream.exit;
  if (exit.kind === 'sandbox_gone') throw new SandboxGone('the sandbox is gone');
  if (exit.kind === 'connection_lost')
    throw new HangarError('unavailable', 'the connection to the sandbox was lost');
  if (exit.kind === 'timed_out')
    throw new ToolRefusal('time_limit', `${verb} took longer than ${options.timeoutMs / 1000} s`);
  if (size > REPORT_BYTES_MAX)
    throw new ToolRefusal('invalid', `the report of ${verb} is too large`);
  return parseReport(Buffer.concat(out).toString('utf8'), verb, exit, err);
}

function parseReport(
  text: string,
  verb: string,
  exit: { kind: string; code?: number },
  err: string,
): object {
  let report: unknown;
  try {
    report = JSON.parse(text);
  } catch {
    const how = exit.kind === 'exited' ? `exit code ${exit.code}` : exit.kind;
    throw new HangarError('unavailable', `${verb} gave no report (${how}): ${err.trim()}`);
  }
  return checkReport(report, verb);
}

/** Throws the refusal that the answer is, if it is one. */
export function checkReport(report: unknown, verb: string): object {
  const failure = (report as { error?: { code?: unknown; message?: unknown } } | null)?.error;
  if (failure) {
    const { code, message } = failure;
    throw new ToolRefusal(
      typeof code === 'string' ? code : 'internal',
      typeof message === 'string' ? message : `${verb} failed and did not say why`,
    );
  }
  if (typeof report !== 'object' || report === null || Array.isArray(report))
    throw new ToolRefusal('invalid', `the report of ${verb} is not an object`);
  return report;
}
