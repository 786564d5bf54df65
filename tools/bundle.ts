import { chmod, copyFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { buildConsole } from './build-console.ts';

/**
 * Bundles the programs that run inside a sandbox. Each is one file without npm dependencies, for the
 * oldest Node that an environment's image may have.
 */
interface Tool {
  entry: string;
  output: string;
}

const TOOLS: readonly Tool[] = [
  {
    entry: 'libs/checkpoints/src/tool/main.ts',
    output: 'dist/tools/hangar-checkpoint.mjs',
  },
  {
    entry: 'libs/sandbox-drivers/src/local/sandboxd/main.ts',
    output: 'dist/tools/sandboxd.mjs',
  },
];

/** A shell script is one file as it is. */
const SCRIPT = {
  entry: 'libs/sandbox-drivers/src/local/sandboxd/hangar-credential.sh',
  output: 'dist/tools/hangar-credential',
};

const root = new URL('..', import.meta.url).pathname;

async function bundle(tool: Tool): Promise<void> {
  const build = await rolldown({
    cwd: root,
    input: tool.entry,
    platform: 'node',
    // Everything but Node's own modules goes into the file.
    external: /^node:/,
    resolve: { conditionNames: ['@hangar/source', 'import', 'node', 'default'] },
    transform: { target: 'node20' },
  });
  await build.write({
    file: resolve(root, tool.output),
    format: 'esm',
    codeSplitting: false,
    minify: false,
  });
  await build.close();
}

/** `bundle.ts` makes all of them; `bundle.ts <entry> <output>` makes one, wherever it is wanted. */
const [entry, output] = process.argv.slice(2);
const wanted = entry !== undefined && output !== undefined ? [{ entry, output }] : TOOLS;

for (const tool of wanted) await bundle(tool);
if (wanted === TOOLS) {
  await copyFile(resolve(root, SCRIPT.entry), resolve(root, SCRIPT.output));
  await chmod(resolve(root, SCRIPT.output), 0o755);
  buildConsole();
}
