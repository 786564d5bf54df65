// `npm test`: sets up, then runs every level; `npm test -- unit` (or int, e2e) runs one.
// Ends with one line: N passed, N failed.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { env, root, setUp } from './setup.mjs';

setUp();
const [level, ...rest] = process.argv.slice(2);
const levels = ['unit', 'int', 'e2e'].includes(level ?? '') ? [level] : ['unit', 'int', 'e2e'];
const args = levels.length === 1 ? rest : process.argv.slice(2);
const node = join(root, 'node_modules', '.bin', 'node');
let passed = 0;
let failed = 0;
const check = levels.length > 1 && args.length === 0;
if (check) {
  const { status } = spawnSync(node, ['tools/check.ts'], { cwd: root, env, stdio: 'inherit' });
  if (status === 0) passed += 1;
  else failed += 1;
}
for (const name of levels) {
  process.stderr.write(`\n${name} tests\n`);
  const result = spawnSync(
    node,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--passWithNoTests',
      ...args,
    ],
    {
      cwd: root,
      env: { ...env, HANGAR_TEST_LEVEL: name },
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    },
  );
  const line = /^(\d+) passed, (\d+) failed/m.exec(result.stdout);
  process.stdout.write(result.stdout.replaceAll(/^\d+ passed, \d+ failed.*\n/gm, ''));
  passed += Number(line?.[1] ?? 0);
  // A run that ended without its line counts as a failure, whatever it printed before.
  failed += line ? Number(line[2]) : 1;
  if (line && result.status !== 0 && Number(line[2]) === 0) failed += 1;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed ? 1 : 0;
