import { rolldown } from 'rolldown';

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
    file: tool.output,
    format: 'esm',
    codeSplitting: false,
    minify: false,
  });
  await build.close();
}

for (const tool of TOOLS) await bundle(tool);
