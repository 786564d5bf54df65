import type { ExecRequest, ExitStatus, SandboxIo, SandboxRef } from '@hangar/sandbox-drivers';

/** Output kept of a command, the end of it: enough for a person to see what went wrong. */
const OUTPUT_BYTES_MAX = 64 * 1024;

export type CommandResult = ExitStatus & { output: string };

/** Runs a command of hangar's own in a sandbox, quietly, and keeps the end of what it printed. */
export async function runCommand(
  io: SandboxIo,
  ref: SandboxRef,
  request: Omit<ExecRequest, 'quiet' | 'stdin'>,
): Promise<CommandResult> {
  const stream = await io.exec(ref, { ...request, quiet: true, stdin: new Uint8Array() });
  let output = Buffer.alloc(0);
  const keep = (chunk: Buffer): void => {
    output = Buffer.concat([output, chunk]).subarray(-OUTPUT_BYTES_MAX);
  };
  stream.stdout.on('data', keep);
  stream.stderr.on('data', keep);
  const exit = await stream.exit;
  return { ...exit, output: output.toString('utf8').trim() };
}
