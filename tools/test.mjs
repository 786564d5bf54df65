// `npm test`: sets up, then runs every level; `npm test -- unit` (or int, e2e) runs one.
// Ends with one line: N passed, N failed.
//
// The end-to-end files run on both shapes of hangar, the one process and the services apart, side
// by side: much of their time is waiting for real minutes. The services and what they say to each
// other are the same on both. Apart there are more processes that can go away and come back, and
// settings that each has to be given: the files about that run apart too, with what differs.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { env, root, setUp } from './setup.mjs';

/** End-to-end files that run on the shape apart, too, when all run. */
const APART = [
  'surface',
  'delivery',
  'recovery',
  'crash-matrix',
  'crash-moments',
  'live',
  'terminals',
].map((name) => `e2e/${name}.e2e`);

const BROWSER = {
  command: 'chromium',
  apt: 'chromium',
  required: false,
  why: 'the journeys in the console need a browser, and fail without one',
};

const [level, ...rest] = process.argv.slice(2);
const levels = ['unit', 'int', 'e2e'].includes(level ?? '') ? [level] : ['unit', 'int', 'e2e'];
setUp(levels.includes('e2e') ? [BROWSER] : []);
const args = levels.length === 1 ? rest : process.argv.slice(2);
const node = join(root, 'node_modules', '.bin', 'node');
let passed = 0;
let failed = 0;
let skipped = 0;
const check = levels.length > 1 && args.length === 0;
if (check) {
  const { status } = spawnSync(node, ['tools/check.ts'], { cwd: root, env, stdio: 'inherit' });
  if (status === 0) passed += 1;
  else failed += 1;
}
for (const name of levels) {
  // A shape that was asked for by name is the only one.
  const shapes = process.env.HANGAR_TEST_SHAPE ? [{ envVars: {}, files: [] }] : shapesOf(name);
  await Promise.all(shapes.map((shape) => run(name, shape)));
}
if (skipped > 0)
  process.stdout.write(`${skipped} tests were skipped: what they show is not shown\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed ? 1 : 0;

/** Settings of the runs of a level, which go on at the same time. */
function shapesOf(name) {
  if (name !== 'e2e') return [{ envVars: {}, files: [] }];
  return [
    { envVars: { HANGAR_TEST_SHAPE: 'standalone' }, files: [] },
    // Whoever names files gets those, on both.
    { envVars: { HANGAR_TEST_SHAPE: 'apart' }, files: args.length === 0 ? APART : [] },
  ];
}

/** One run of jest; what it printed is shown at its end, whole, and counted. */
async function run(name, { envVars, files }) {
  const shape = envVars.HANGAR_TEST_SHAPE;
  const title = [name, shape].filter(Boolean).join(', ');
  process.stderr.write(`\n${title} tests\n`);
  const child = spawn(
    node,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--passWithNoTests',
      ...files,
      ...args,
    ],
    {
      cwd: root,
      env: { ...env, ...envVars, HANGAR_TEST_LEVEL: name },
      stdio: ['ignore', 'pipe', shape ? 'pipe' : 'inherit'],
    },
  );
  const texts = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended(child)]);
  const [stdout, stderr, status] = texts;
  const line = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?/m.exec(stdout);
  if (shape) process.stderr.write(`\n${title} tests have ended\n${stderr}`);
  process.stdout.write(stdout.replaceAll(/^\d+ passed, \d+ failed.*\n/gm, ''));
  passed += Number(line?.[1] ?? 0);
  skipped += Number(line?.[3] ?? 0);
  // A run that ended without its line counts as a failure, whatever it printed before.
  failed += line ? Number(line[2]) : 1;
  if (line && status !== 0 && Number(line[2]) === 0) failed += 1;
}

async function textOf(stream) {
  let text = '';
  for await (const chunk of stream?.setEncoding('utf8') ?? []) text += chunk;
  return text;
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}
