// Holds the import table of docs/ARCHITECTURE.md: fails when a project imports one that its layer
// may not use, or when its tsconfig references are not its imports; `--fix` writes the references.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const MAY: Record<string, string[]> = {
  contract: [],
  messaging: ['contract'],
  kit: ['contract'],
  seam: ['contract'],
  domain: ['contract', 'messaging', 'kit', 'seam'],
  edge: ['contract', 'messaging', 'kit', 'seam'],
  client: ['contract'],
  testing: ['contract', 'messaging', 'kit'],
  app: ['contract', 'messaging', 'kit', 'seam', 'domain', 'edge', 'client'],
  // One process that boots the others side by side (ARCHITECTURE, decisions).
  standalone: ['contract', 'messaging', 'kit', 'seam', 'domain', 'edge', 'client', 'app'],
  'app-client': ['contract', 'client'],
};

interface Graph {
  nodes: Record<string, { data: { root: string; tags: string[] } }>;
  dependencies: Record<string, { target: string; sourceFile?: string }[]>;
}

const fix = process.argv.includes('--fix');
mkdirSync('tmp', { recursive: true });
const out = join(process.cwd(), 'tmp/graph.json');
execFileSync('nx', ['graph', `--file=${out}`, '--open=false'], {
  stdio: 'ignore',
  env: { ...process.env, NX_DAEMON: 'false' },
});
const { nodes, dependencies } = (JSON.parse(readFileSync(out, 'utf8')) as { graph: Graph }).graph;
const wrong: string[] = [];

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const node = (name: string): Graph['nodes'][string]['data'] => {
  const found = nodes[name];
  if (!found) throw new Error(`no project ${name}`);
  return found.data;
};
const layer = (name: string): string =>
  node(name)
    .tags.find((t) => t.startsWith('layer:'))
    ?.slice(6) ?? '';

// Specs and suites may use the test stack and, above their layer, what they prove a seam with.
const TEST_FILE = /\.spec\.ts$|\/src\/testing\/|\/(e2e|sim)\//;

/** Projects that a project's shipped source names, read from the imports themselves. */
function imported(root: string): Set<string> {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', root], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((f) => /\/src\/.*\.tsx?$/.test(f) && !TEST_FILE.test(f) && !f.includes('/gen/'));
  const found = new Set<string>();
  for (const file of files)
    for (const match of readFileSync(file, 'utf8').matchAll(/from '(@hangar\/[a-z-]+)/g))
      found.add(match[1] as string);
  return found;
}

for (const name of Object.keys(dependencies)) {
  if (!nodes[name] || !layer(name)) continue;
  const { root } = node(name);
  const used = [...imported(root)].filter((t) => t !== name && nodes[t]);
  for (const target of used)
    if (!MAY[layer(name)]?.includes(layer(target)))
      wrong.push(`${root} (${layer(name)}) may not import ${target} (${layer(target)})`);
  const path = join(root, 'tsconfig.json');
  const config = JSON.parse(readFileSync(path, 'utf8')) as {
    compilerOptions?: { noEmit?: boolean };
    references?: { path: string }[];
  };
  // Bundled from source: tsc only looks at it, and builds nothing that it would refer to.
  if (config.compilerOptions?.noEmit) continue;
  const want = used.map((t) => relative(root, node(t).root)).toSorted(byText);
  const have = (config.references ?? []).map((r) => r.path).toSorted(byText);
  if (JSON.stringify(want) === JSON.stringify(have)) continue;
  if (fix) {
    config.references = want.map((reference) => ({ path: reference }));
    writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`);
  } else wrong.push(`${path}: references should be ${want.join(', ')} (check-graph --fix)`);
}
console.log(
  wrong.length ? wrong.join('\n') : `${Object.keys(nodes).length} projects keep to their layers`,
);
process.exitCode = wrong.length ? 1 : 0;
