import type { HangarClient } from '@hangar/client';
import type { Output } from './output/output.ts';
import type { Connection } from './connection.ts';
import type { Terminal } from './terminal.ts';

/** A flag of a command; its name in the definition is its long form, in kebab-case when typed. */
export type FlagSpec =
  | TextFlag
  | { kind: 'switch'; help: string; short?: string }
  | { kind: 'count'; value: string; help: string; min: number; max: number; required?: true }
  /** May be given again and again. */
  | { kind: 'list'; value: string; help: string };

interface TextFlag {
  kind: 'text';
  value: string;
  help: string;
  short?: string;
  required?: true;
  choices?: readonly string[];
}

/** One value of a list flag; `place` orders those of several flags as they were typed. */
export interface Listed {
  text: string;
  place: number;
}

export type FlagSpecs = Record<string, FlagSpec>;

type ValueOf<F extends FlagSpec> = F extends { kind: 'switch' }
  ? boolean
  : F extends { kind: 'list' }
    ? Listed[]
    : F extends { kind: 'count'; required: true }
      ? number
      : F extends { kind: 'count' }
        ? number | undefined
        : F extends { required: true }
          ? string
          : string | undefined;

export type Flags<F extends FlagSpecs> = { [K in keyof F]: ValueOf<F[K]> };

/** A positional value: `variadic` takes the rest, and only the last may be that. */
export interface ArgumentSpec {
  help: string;
  optional?: true;
  variadic?: true;
}

export type ArgumentSpecs = Record<string, ArgumentSpec>;

export type Arguments<A extends ArgumentSpecs> = {
  [K in keyof A]: A[K] extends { variadic: true }
    ? string[]
    : A[K] extends { optional: true }
      ? string | undefined
      : string;
};

export interface RunOptions<
  A extends ArgumentSpecs = ArgumentSpecs,
  F extends FlagSpecs = FlagSpecs,
> {
  args: Arguments<A>;
  flags: Flags<F>;
  client: HangarClient;
  connection: Connection;
  output: Output;
  terminal: Terminal;
  /** Seconds of `--wait`; null when the command shall not wait. */
  waitSeconds: number | null;
}

export interface CommandDefinition<
  A extends ArgumentSpecs = ArgumentSpecs,
  F extends FlagSpecs = FlagSpecs,
> {
  /** Noun and verb, or one word. */
  path: readonly [string] | readonly [string, string];
  /** One line, in the list of commands. */
  summary: string;
  /** More, on the command's own page. */
  description?: string;
  args: A;
  flags: F;
  /** Offers `--wait[=SECONDS]`. */
  waits?: true;
  /** It is not known by heart what becomes of a change whose answer was lost. */
  changes?: true;
  examples: readonly string[];
  /** What `--json` prints, for the page. */
  json: string;
  /** The routes of the server that it uses, e.g. `GET /api/sessions`. */
  routes: readonly string[];
  /** The exit code. Failures are thrown: HangarError or Failure. */
  run(options: RunOptions<A, F>): Promise<number>;
}

/** Keeps the names of arguments and flags, so that `run` sees their types. */
export function defineCommand<const A extends ArgumentSpecs, const F extends FlagSpecs>(
  definition: CommandDefinition<A, F>,
): CommandDefinition {
  return definition as unknown as CommandDefinition;
}
