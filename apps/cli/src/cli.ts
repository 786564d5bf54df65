import { createHangarClient } from '@hangar/client';
import type { CommandDefinition } from './command.ts';
import { findConnection, type Connection } from './connection.ts';
import { EXIT } from './exit-codes.ts';
import { failureText, sentence, type FailureText } from './failure.ts';
import { createOutput } from './output/output.ts';
import { createProgram, splitWait, usageExit, type Invocation } from './program.ts';
import type { Terminal } from './terminal.ts';

export interface CliOptions {
  terminal: Terminal;
  /** The checkout this command belongs to. */
  root: string;
  fetch?: typeof fetch;
}

/** Runs one command line (without the program's own name) and says the exit code. Never throws. */
export async function runCli(argv: readonly string[], options: CliOptions): Promise<number> {
  const { terminal } = options;
  let exitCode: number = EXIT.ok;
  const program = createProgram({
    writeOut: (text) => terminal.stdout.write(text),
    writeErr: (text) => terminal.stderr.write(text),
    columns: Math.min(100, terminal.stdout.columns),
    async invoke(invocation) {
      exitCode = await runOne(invocation, options);
    },
  });
  if (argv.length === 0 || isBareNoun(argv)) {
    const noun = program.commands.find((command) => command.name() === argv[0]);
    (noun ?? program).outputHelp();
    return EXIT.ok;
  }
  try {
    await program.parseAsync(splitWait(argv), { from: 'user' });
    return exitCode;
  } catch (error) {
    const usage = usageExit(error);
    if (usage?.exitCode === 0) return EXIT.ok;
    const json = argv.includes('--json');
    createOutput(terminal, { json }).failure(
      usage ? usageText(usage.message, argv) : failureText(error, NO_CONNECTION),
    );
    return usage ? EXIT.stopped : EXIT.failed;
  }

  function isBareNoun(words: readonly string[]): boolean {
    if (words.length !== 1) return false;
    const command = program.commands.find((each) => each.name() === words[0]);
    return command !== undefined && command.commands.length > 0;
  }
}

const NO_CONNECTION = { changes: false, tokenSource: 'none', hasToken: false };

function usageText(message: string, argv: readonly string[]): FailureText {
  const page = argv
    .filter((word) => /^[a-z]/.test(word))
    .slice(0, 2)
    .join(' ');
  return {
    code: 'invalid',
    what: sentence(message.replace(/^error: /, '').replace(/\n/g, ' ')),
    kept: 'Nothing was changed.',
    next: `See hangar ${page ? `${page} ` : ''}--help.`,
    exitCode: EXIT.stopped,
  };
}

async function runOne(invocation: Invocation, options: CliOptions): Promise<number> {
  const { terminal } = options;
  const { definition, json } = invocation;
  const output = createOutput(terminal, { json });
  let connection: Connection | null = null;
  try {
    connection = findConnection({
      env: terminal.env,
      cwd: terminal.cwd,
      root: options.root,
      url: invocation.url,
      tokenFile: invocation.tokenFile,
    });
    if (connection.tokenIsOpen) {
      output.note(`warning: others can read ${connection.tokenSource}: chmod 600 it`);
    }
    return await (definition as CommandDefinition<never, never>).run({
      args: invocation.args as never,
      flags: invocation.flags as never,
      client: createHangarClient({
        url: connection.url,
        token: connection.token,
        signal: terminal.signal,
        ...(options.fetch ? { fetch: options.fetch } : {}),
      }),
      connection,
      output,
      terminal,
      waitSeconds: invocation.waitSeconds,
    });
  } catch (error) {
    const text = failureText(error, {
      changes: definition.changes === true,
      tokenSource: connection?.tokenSource ?? 'none',
      hasToken: connection?.token !== undefined,
    });
    output.failure(text);
    return text.exitCode;
  }
}
