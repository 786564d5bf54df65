// Everything that needs no server: format, lint, types, layers, contracts. Prints what fails.
import { spawnSync } from 'node:child_process';

const steps: [string, string[]][] = [
  ['oxfmt', ['--check', '.']],
  ['oxlint', ['--type-aware']],
  ['tsc', ['-p', 'tsconfig.check.json']],
  ['tsc', ['-p', 'apps/console']],
  ['node', ['tools/check-graph.ts']],
  ['buf', ['lint']],
  ['node', ['tools/check-contracts.ts']],
];
let failed = 0;
for (const [command, args] of steps) {
  const line = [command, ...args].join(' ');
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  process.stdout.write(`${status === 0 ? 'ok  ' : 'FAIL'}  ${line}\n`);
  if (status !== 0) {
    failed += 1;
    process.stdout.write(`${stdout}${stderr}\n`);
  }
}
process.exitCode = failed ? 1 : 0;
