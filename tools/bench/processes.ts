import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const execute = promisify(execFile);

/** Runs a program to its end and returns what it printed. Throws with its stderr when it fails. */
export async function run(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<string> {
  const { input, ...rest } = options;
  const running = execute(program, [...args], { maxBuffer: OUTPUT_BYTES_MAX, ...rest });
  // A program that ends without having read everything is judged by its exit.
  running.child.stdin?.on('error', () => undefined);
  running.child.stdin?.end(input ?? '');
  return (await running).stdout;
}
