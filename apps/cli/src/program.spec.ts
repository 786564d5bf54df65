import { describe, expect, it } from '@jest/globals';
import { allCommands } from './commands/all-commands.ts';
import { createProgram, NOUNS } from './program.ts';
import { golden } from './testing/golden.ts';
import { runCommand } from './testing/run-command.ts';

const pages = [
  [],
  ...Object.keys(NOUNS).map((noun) => [noun]),
  ...allCommands.map(({ path }) => [...path]),
];

describe('the page', () => {
  it.each(pages.map((path) => [['hangar', ...path].join(' '), path] as const))(
    'of %s',
    async (_name, path) => {
      const { code, out, err } = await runCommand([...path, '--help']);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toBe(golden(['help', ...path].join('-'), out));
    },
  );

  it.each([[[]], [['session']], [['env']]])('comes for %j alone', async (argv: string[]) => {
    const { code, out } = await runCommand(argv);
    expect(code).toBe(0);
    expect(out).toBe((await runCommand([...argv, '--help'])).out);
  });

  it('shows an example of each command that is that command', () => {
    for (const { path, examples } of allCommands) {
      expect(examples.length).toBeGreaterThan(0);
      for (const line of examples) expect(line.startsWith(`hangar ${path.join(' ')}`)).toBe(true);
    }
  });

  it('has no line wider than the screen', async () => {
    for (const path of pages) {
      const { out } = await runCommand([...path, '--help'], { columns: 100 });
      for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    }
  });
});

describe('wrong usage', () => {
  it.each([
    ['session send', /Missing required argument 'SESSION'/],
    ['sesion list', /Unknown command 'sesion'.*session/],
    ['session lst', /Unknown command 'lst'.*list/],
    ['session list --stat IDLE', /Unknown option '--stat'.*--state/],
    ['session list --state SLEEPING', /Allowed choices are STARTING/],
    ['session keep csv-fix', /Required option '--idle <MINUTES>'/],
    ['session keep csv-fix --idle -1', /whole number/],
    ['session keep csv-fix --idle 99999999', /whole number from 0 to 20160/],
    ['session get a b', /Too many arguments/],
    ['session open csv-fix --wait=0', /whole number from 1/],
    ['session get csv-fix --wait', /Unknown option/],
  ])('%s ends with 2', async (line, what) => {
    const { code, out, err } = await runCommand(line.split(' '));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(what);
    expect(err).toMatch(/next: +See hangar .*--help/);
  });

  it('is JSON when that was asked for', async () => {
    const { code, err } = await runCommand(['session', 'get', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(err)).toEqual({
      error: {
        code: 'invalid',
        detail: "Missing required argument 'SESSION'. Nothing was changed.",
        hint: 'See hangar session get --help.',
      },
    });
  });
});

describe('the commands', () => {
  it('are all reachable, each once', () => {
    const program = createProgram({
      writeOut: () => undefined,
      writeErr: () => undefined,
      columns: 80,
      invoke: () => Promise.resolve(),
    });
    const names = program.commands.flatMap((noun) =>
      noun.commands.length > 0
        ? noun.commands.map((verb) => `${noun.name()} ${verb.name()}`)
        : [noun.name()],
    );
    const wanted = allCommands.map(({ path }) => path.join(' '));
    expect(names.toSorted()).toEqual(wanted.toSorted());
    expect(new Set(wanted).size).toBe(wanted.length);
  });
});
