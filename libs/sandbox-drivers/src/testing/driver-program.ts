import { text } from 'node:stream/consumers';
import { createLocalDriver } from '../local/index.ts';
import type { SandboxSpec } from '../sandbox-driver.ts';

/**
 * A process that uses a local driver, for tests that kill one or run one as another user.
 * Arguments: a JSON document. Prints one JSON document a line.
 */
interface Program {
  stateDirectory: string;
  toolsDirectory: string;
  isolation: 'auto' | 'none';
  spec: SandboxSpec;
  /** `follow`: start the run and print how many bytes of it came; `exec`: run it to its end. */
  action: 'follow' | 'exec';
  script: string;
}

const print = (document: unknown): boolean => process.stdout.write(`${JSON.stringify(document)}\n`);

const program = JSON.parse(process.argv[2] ?? '') as Program;
const { stateDirectory, toolsDirectory, isolation, spec } = program;
const nodeBinary = process.execPath;
const driver = createLocalDriver({ stateDirectory, toolsDirectory, nodeBinary, isolation });
const argv = ['sh', '-c', program.script];
print({ probe: await driver.probe() });
const ref = await driver.create(spec);
print({ ref });
if (program.action === 'exec') {
  const exec = await driver.exec(ref, { argv });
  const [out, err] = await Promise.all([text(exec.stdout), text(exec.stderr)]);
  print({ out, err, exit: await exec.exit });
  await driver.destroy(spec.id);
  print({ left: await driver.list() });
  await driver.close();
} else {
  const status = await driver.get(spec.id);
  const cwd = status?.phase === 'ready' ? status.paths.workspace : '/';
  await driver.runs.start(ref, 'run-00000001', { argv, cwd, envVars: {} });
  const run = await driver.runs.follow(ref, 'run-00000001', { out: 0, err: 0 });
  run.stderr.resume();
  for await (const chunk of run.stdout) print({ text: String(chunk) });
  print({ exit: await run.exit });
}
