import { Buffer } from 'node:buffer';
import {
  EXEC_SECONDS_DEFAULT,
  EXEC_SECONDS_MAX,
  EXEC_STDIN_BYTES_MAX,
  type ExecResult,
} from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT, EXIT_EXEC_TIMED_OUT } from '../../exit-codes.ts';
import { Failure } from '../../failure.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

export const execCommand = defineCommand({
  path: ['session', 'exec'],
  summary: 'Run a command in the sandbox of a session',
  description:
    `Ends with the exit code of the command, ${EXIT_EXEC_TIMED_OUT} when its time ran out. Put -- in ` +
    'front of a command that has flags of its own.',
  args: { ...SESSION_ARGUMENT, command: { help: 'the command and its values', variadic: true } },
  flags: {
    cwd: { kind: 'text', value: 'DIRECTORY', help: "the session's own when left out" },
    stdin: { kind: 'switch', help: 'send stdin to it', short: 'i' },
    timeout: {
      kind: 'count',
      value: 'SECONDS',
      help: `stop it after so long (${EXEC_SECONDS_DEFAULT})`,
      min: 1,
      max: EXEC_SECONDS_MAX,
    },
  },
  changes: true,
  examples: [
    'hangar session exec csv-fix -- git log --oneline -5',
    'hangar session exec csv-fix --stdin -- tee notes.txt < notes.txt',
  ],
  json: '{exit_code | signal | timed_out, stdout, stderr, ...}; the exit code is 0 then',
  routes: ['POST /api/sessions/{ref}/exec'],
  async run({ args, flags, client, output, terminal }) {
    const stdin = flags.stdin ? await terminal.stdin.readAll(EXEC_STDIN_BYTES_MAX) : null;
    const result = await client.sandboxes.exec(args.session, {
      argv: args.command,
      ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }),
      ...(stdin === null ? {} : { stdin_base64: stdin.toString('base64') }),
      ...(flags.timeout === undefined ? {} : { timeout_seconds: flags.timeout }),
    });
    if (output.json) {
      output.result(result, () => undefined);
      return EXIT.ok;
    }
    await terminal.stdout.writeBytes(outputOf(result.stdout, result.stdout_base64));
    await terminal.stderr.writeBytes(outputOf(result.stderr, result.stderr_base64));
    if (result.stdout_truncated || result.stderr_truncated) {
      output.note('hangar: the output was too long and was cut');
    }
    return exitCodeOfExec(result);
  },
});

const outputOf = (text: string | undefined, base64: string | undefined): Uint8Array =>
  base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64');

function exitCodeOfExec(result: ExecResult): number {
  if (result.timed_out) {
    throw new Failure({
      code: 'unavailable',
      what: 'The command was stopped: its time ran out.',
      kept: 'What it did until then stays in the sandbox.',
      next: 'Give it more with --timeout.',
      exitCode: EXIT_EXEC_TIMED_OUT,
    });
  }
  if (result.signal !== undefined) {
    throw new Failure({
      code: 'internal',
      what: `The command was ended by ${result.signal}.`,
      kept: 'What it did until then stays in the sandbox.',
      next: 'SIGKILL is often the memory limit of the environment.',
    });
  }
  return result.exit_code ?? EXIT.failed;
}
