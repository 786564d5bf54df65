import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SandboxRef } from '../sandbox-driver.ts';
import { newSpec } from '../testing/index.ts';
import { startDriverProcess } from '../testing/driver-process.ts';
import { openLocalDriver } from '../testing/local-driver-factory.ts';

const LINES = 200;
const SCRIPT = `i=0; while [ $i -lt ${LINES} ]; do echo "line $i"; i=$((i+1)); sleep 0.01; done
read answer; echo "got $answer"; exit 6`;

describe.each(['auto', 'none'] as const)('a run outlives the driver, isolation %s', (isolation) => {
  let local: Awaited<ReturnType<typeof openLocalDriver>>;
  beforeAll(async () => {
    local = await openLocalDriver(isolation);
  });
  afterAll(async () => {
    for (const { id } of await local.driver.list()) await local.driver.destroy(id);
    await local.driver.close();
    await local.close();
  });

  it('SIGKILL of its whole process group loses no byte and repeats none', async () => {
    const { stateDirectory, toolsDirectory, driver } = local;
    const spec = newSpec();
    const action = 'follow';
    const program = { stateDirectory, toolsDirectory, isolation, spec, action, script: SCRIPT };
    const { child, lines, errors } = startDriverProcess(program);
    let seen = '';
    let ref: SandboxRef | undefined;
    while (seen.length < 200) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the driver's process ended: ${errors()}`);
      if (value.ref) ref = value.ref as SandboxRef;
      if (typeof value.text === 'string') seen += value.text;
    }
    const gone = once(child, 'exit');
    process.kill(-child.pid!, 'SIGKILL');
    expect((await gone)[1]).toBe('SIGKILL');

    expect(await driver.get(spec.id)).toMatchObject({ phase: 'ready', ref });
    expect(await driver.runs.status(ref!, 'run-00000001')).toMatchObject({ state: 'running' });
    const run = await driver.runs.follow(ref!, 'run-00000001', { out: seen.length, err: 0 });
    await driver.runs.input(ref!, 'run-00000001', 'answer', Buffer.from('yes\n'));
    const [rest] = await Promise.all([text(run.stdout), text(run.stderr)]);
    expect(await run.exit).toEqual({ kind: 'exited', code: 6 });
    const expected = Array.from({ length: LINES }, (_, index) => `line ${index}\n`).join('');
    expect(seen + rest).toBe(`${expected}got yes\n`);
    await driver.destroy(spec.id);
    expect(await driver.get(spec.id)).toBeNull();
  });
});
