/** A key that the CLI asks for by a command can change while a turn goes on [R5]. */
import { expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KEY, pidOf, type HarnessBench } from './harness-bench.ts';

const NEXT_KEY = 'sk-hangar-suite-next-fedcba9876543210';
/** Goes on when the test has put a file there. */
const WAITING = 'run: echo $$ > pid.txt; while [ ! -e go.txt ]; do sleep 0.1; done';

/** `refreshed`: by the CLI's own way of asking; `once`: right before its start, for the turn. */
export function describeKeys(bench: () => HarnessBench, keys: 'refreshed' | 'once'): void {
  if (keys === 'refreshed') describeRefresh(bench);
  else describeAskedOnce(bench);
}

function describeAskedOnce(bench: () => HarnessBench): void {
  it('is given its key at its start, and has it in no file [R5]', async () => {
    const { setting, home, spec, start } = bench();
    const { scripted, keyVariable } = setting;
    if (!scripted || !keyVariable) throw new Error('a harness with a model asks for its key');
    const file = join(home.cwd, '..', 'key');
    await writeFile(file, NEXT_KEY);
    const { [keyVariable]: _key, ...envVars } = spec({ prompt: 'x' }).envVars;
    const process = await start(
      spec({
        prompt: 'x [[ say: with a key ]]',
        envVars,
        keyCommands: { [keyVariable]: `cat '${file}'` },
      }),
    );
    const turn = await process.finished;
    expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'with a key' });
    expect(scripted.keys().at(-1)).toBe(NEXT_KEY);
    expect(await home.filesWith(NEXT_KEY)).toEqual([]);
  }, 90_000);
}

function describeRefresh(bench: () => HarnessBench): void {
  it('goes on in the same process when its key was changed and the old one is refused', async () => {
    const { setting, home, spec, start } = bench();
    const { scripted, keyVariable } = setting;
    if (!scripted || !keyVariable) throw new Error('a harness with a model asks for its key');
    // Beside HOME, where a key must never be.
    const file = join(home.cwd, '..', 'key');
    await writeFile(file, KEY);
    const process = await start(
      spec({
        prompt: `x [[ ${WAITING} ;; say: with the next ]]`,
        keyCommands: { [keyVariable]: `cat '${file}'` },
      }),
    );
    await pidOf(home);
    scripted.refuse(KEY);
    await writeFile(file, NEXT_KEY);
    await writeFile(join(home.cwd, 'go.txt'), '');
    const turn = await process.finished;
    expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'with the next' });
    const keys = scripted.keys();
    expect(keys).toContain(KEY);
    expect(keys.at(-1)).toBe(NEXT_KEY);
    expect(await home.filesWith(KEY)).toEqual([]);
    expect(await home.filesWith(NEXT_KEY)).toEqual([]);
    scripted.accept(KEY);
  }, 90_000);
}
