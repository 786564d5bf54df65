import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { CommandDefinition, FlagSpec, Listed } from './command.ts';
import { allCommands } from './commands/all-commands.ts';
import { kebab } from './names.ts';
import { WAIT_SECONDS_DEFAULT, WAIT_SECONDS_LIMIT } from './wait/wait-seconds.ts';

/** What was typed, checked for its form. */
export interface Invocation {
  definition: CommandDefinition;
  args: Record<string, string | string[] | undefined>;
  flags: Record<string, FlagValue>;
  json: boolean;
  url: string | undefined;
  tokenFile: string | undefined;
  waitSeconds: number | null;
}

type FlagValue = string | number | boolean | Listed[] | undefined;

export interface ProgramOptions {
  writeOut(text: string): void;
  writeErr(text: string): void;
  columns: number;
  invoke(invocation: Invocation): Promise<void>;
}

export const NOUNS: Record<string, string> = {
  session: 'Streams of work that outlive the computer they run on',
  checkpoint: 'Saved states of a session',
  env: 'Environments: the recipes that sandboxes are made from',
  secret: 'Values that sandboxes get and nobody reads back',
  token: 'Who may use the server, and for what',
  webhook: 'Where cards, turns and failures are posted to',
  audit: 'The log of everything that happened',
  harness: 'The agent CLIs that sessions run',
};

/** The whole command line. Usage errors and `--help` throw a CommanderError. */
export function createProgram(options: ProgramOptions): Command {
  const program = dressed(new Command('hangar'), options)
    .description('Durable sessions for coding agents.')
    .usage('<noun> <verb> [values] [flags]');
  program.addHelpText('after', PROGRAM_NOTES);
  const nouns = new Map<string, Command>();
  for (const definition of allCommands) {
    const [noun, verb] = definition.path;
    if (verb === undefined) {
      program.addCommand(leaf(definition, noun, options));
      continue;
    }
    let parent = nouns.get(noun);
    if (!parent) {
      parent = dressed(new Command(noun), options).description(NOUNS[noun] ?? '');
      nouns.set(noun, parent);
      program.addCommand(parent);
    }
    parent.addCommand(leaf(definition, verb, options));
  }
  return program;
}

/** `--wait=60` is two things to the parser, so that `--wait "a message"` takes no message away. */
export function splitWait(argv: readonly string[]): string[] {
  const end = argv.indexOf('--');
  const flags = end < 0 ? argv : argv.slice(0, end);
  const rest = end < 0 ? [] : argv.slice(end);
  return [...flags.map((word) => word.replace(/^--wait=/, '--wait-seconds=')), ...rest];
}

function dressed(command: Command, options: ProgramOptions): Command {
  return command
    .exitOverride()
    .helpOption('-h, --help', 'show this page')
    .helpCommand(false)
    .showSuggestionAfterError(true)
    .configureHelp({ subcommandTerm: termOf })
    .configureOutput({
      writeOut: (text) => options.writeOut(text),
      writeErr: (text) => options.writeErr(text),
      outputError: () => undefined,
      getOutHelpWidth: () => options.columns,
      getErrHelpWidth: () => options.columns,
    });
}

/** Verbs all have flags, so a list of them need not say so. */
const termOf = (command: Command): string => {
  const values = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...values].join(' ');
};

function leaf(definition: CommandDefinition, name: string, options: ProgramOptions): Command {
  const command = dressed(new Command(name), options).summary(definition.summary);
  const more = definition.description ? `\n\n${definition.description}` : '';
  command.description(`${definition.summary}.${more}`);
  for (const [key, spec] of Object.entries(definition.args)) {
    const word = `${shout(key)}${spec.variadic ? '...' : ''}`;
    command.addArgument(new Argument(spec.optional ? `[${word}]` : `<${word}>`, spec.help));
  }
  let place = 0;
  const list = (text: string, before: Listed[] = []): Listed[] => [
    ...before,
    { text, place: (place += 1) },
  ];
  for (const [key, spec] of Object.entries(definition.flags)) {
    const option = optionOf(kebab(key), spec);
    command.addOption(spec.kind === 'list' ? option.argParser(list) : option);
  }
  if (definition.waits) addWait(command);
  command.option('--json', 'print the object that docs/formats/cli-json.md describes');
  command.option('--url <URL>', 'the server (HANGAR_URL, else http://127.0.0.1:7700)');
  command.option('--token-file <FILE>', 'read the token from here instead of HANGAR_TOKEN');
  const examples = definition.examples.map((line) => `  ${line}\n`).join('');
  command.addHelpText('after', `\nExamples:\n${examples}\nJSON:\n  ${definition.json}`);
  command.action(async (...given: unknown[]) => {
    const values = given.slice(0, Object.keys(definition.args).length);
    await options.invoke(invocationOf(definition, values, command.opts()));
  });
  return command;
}

function addWait(command: Command): void {
  command.addOption(
    new Option('--wait', `follow until the outcome, or with --wait=SECONDS that long at most`),
  );
  command.addOption(
    new Option('--wait-seconds <SECONDS>')
      .argParser(wholeNumber({ min: 1, max: WAIT_SECONDS_LIMIT }))
      .hideHelp(),
  );
}

function optionOf(name: string, spec: FlagSpec): Option {
  const short = 'short' in spec && spec.short ? `-${spec.short}, ` : '';
  if (spec.kind === 'switch') return new Option(`${short}--${name}`, spec.help);
  const option = new Option(`${short}--${name} <${spec.value}>`, spec.help);
  if (spec.kind === 'list') return option;
  if (spec.kind === 'count') option.argParser(wholeNumber(spec));
  else if (spec.choices) option.choices([...spec.choices]);
  if (spec.required) option.makeOptionMandatory();
  return option;
}

const wholeNumber =
  ({ min, max }: { min: number; max: number }) =>
  (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Use a whole number from ${min} to ${max}.`);
  };

type Typed = Record<string, FlagValue>;

function invocationOf(definition: CommandDefinition, values: unknown[], typed: Typed): Invocation {
  const args = Object.fromEntries(
    Object.keys(definition.args).map((key, index) => [key, values[index]]),
  ) as Invocation['args'];
  const flags = Object.fromEntries(
    Object.entries(definition.flags).map(([key, spec]) => [
      key,
      spec.kind === 'switch'
        ? typed[key] === true
        : spec.kind === 'list'
          ? (typed[key] ?? [])
          : typed[key],
    ]),
  );
  const seconds = typed['waitSeconds'];
  const whole = typed['wait'] === true ? WAIT_SECONDS_DEFAULT : null;
  return {
    definition,
    args,
    flags,
    json: typed['json'] === true,
    url: typed['url'] as string | undefined,
    tokenFile: typed['tokenFile'] as string | undefined,
    waitSeconds: typeof seconds === 'number' ? seconds : whole,
  };
}

const shout = (key: string): string => kebab(key).toUpperCase();

/** What commander itself ends a run with: help that was asked for is no error. */
export const usageExit = (error: unknown): CommanderError | null =>
  error instanceof CommanderError ? error : null;

const PROGRAM_NOTES = `
A session is named by its id (ses-1a2b3c4d) or its name, everywhere.

Environment variables:
  HANGAR_URL    the server, http://127.0.0.1:7700 when not set
  HANGAR_TOKEN  the token; else the file "token" of HANGAR_STATE (.hangar), for a local server
  NO_COLOR      no colours

Exit codes:
  0  done
  1  failed: refused by the server, out of reach, or the turn that was waited for failed
  2  no outcome, nothing failed: wrong usage, not confirmed, Ctrl-C, --wait ran out of time, or the
     turn that was waited for waits on your answer
  4  not authenticated: the token is missing, unknown, or lacks a scope

  "session exec" ends with the exit code of the command it ran, "session attach" with that of the
  shell.`;
