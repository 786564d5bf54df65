import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Output } from '../../output/output.ts';
import type { Tone } from '../../output/style.ts';
import type { Check } from './check.ts';
import {
  checkBubblewrap,
  checkDisk,
  checkGit,
  checkNatsServer,
  checkNode,
} from './machine-checks.ts';
import { runProgram } from './run-program.ts';
import { checkServer } from './server-checks.ts';

export const doctorCommand = defineCommand({
  path: ['doctor'],
  summary: 'Find what is wrong with this machine and the server, and how to fix it',
  description: 'The exit code is 1 when something fails; a warning is none.',
  args: {},
  flags: {},
  examples: ['hangar doctor', 'hangar doctor --json'],
  json: '{ok, checks: [{name, result: ok | warn | fail, detail, fix}]}',
  routes: ['GET /api/openapi.json', 'GET /health/ready', 'GET /api/who'],
  async run({ client, connection, output, terminal }) {
    const checks = [
      checkNode(process.version),
      await checkGit(runProgram),
      await checkBubblewrap(runProgram),
      await checkNatsServer(runProgram),
      await checkDisk(connection.stateDirectory),
      ...(await checkServer({ client, connection, now: () => terminal.now() })),
    ];
    const allWell = checks.every(({ result }) => result !== 'fail');
    output.result({ ok: allWell, checks }, () => showChecks(output, checks));
    return allWell ? EXIT.ok : EXIT.failed;
  },
});

const TONES: Record<Check['result'], Tone> = { ok: 'good', warn: 'warn', fail: 'bad' };

export function showChecks(output: Output, checks: Check[]): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, result, detail, fix } of checks) {
    if (!output.isTty) {
      output.line([result, name, detail, fix ?? ''].join('\t'));
      continue;
    }
    const word = output.paint(TONES[result], result.padEnd(4));
    output.line(`${word}  ${name.padEnd(width)}  ${detail}`);
    if (fix !== null) output.line(`${' '.repeat(width + 8)}${output.paint('strong', `-> ${fix}`)}`);
  }
}
