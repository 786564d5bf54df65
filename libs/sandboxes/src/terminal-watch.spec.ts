import { describe, expect, it } from '@jest/globals';
import { createFakeDriver } from '@hangar/sandbox-drivers/fake';
import { eventually } from '@hangar/testing';
import { createTerminalWatch } from './terminal-watch.ts';

async function bench() {
  const driver = createFakeDriver();
  const ref = await driver.create({
    id: 'sbx-1a2b3c4d-1',
    sessionId: 'ses-1a2b3c4d',
    cwd: '/workspace/app',
    envVars: {},
    network: 'none',
    mounts: [],
    resources: {},
  });
  await driver.terminals.open(ref, 'trm-1', { argv: ['sh'], cols: 80, rows: 24 });
  let nowMs = 0;
  let looks = 0;
  const touched: string[] = [];
  const { list } = driver.terminals;
  const terminals = {
    ...driver.terminals,
    list: async (of: typeof ref) => {
      const found = await list(of).finally(() => void (looks += 1));
      return found;
    },
  };
  const watch = createTerminalWatch({
    driver: { terminals },
    presence: { touch: async (id) => void touched.push(id) },
    now: () => new Date(nowMs),
  });
  return {
    driver,
    touched,
    print: () => driver.terminal(ref.id, 'trm-1')?.print('a line\n'),
    /** A look, so many seconds after the one before; resolves with how often it was asked. */
    look: async (seconds: number): Promise<number> => {
      const before = looks;
      nowMs += seconds * 1000;
      watch.look(ref);
      if (seconds >= 30) await eventually(() => looks > before);
      return looks;
    },
  };
}

describe('a terminal that nobody looks at [X4]', () => {
  it('is in use while it prints, and only then', async () => {
    const b = await bench();
    await b.look(30);
    expect(b.touched).toEqual([]);
    b.print();
    await b.look(30);
    await eventually(() => b.touched.length === 1);
    await b.look(30);
    await b.look(30);
    expect(b.touched).toEqual(['sbx-1a2b3c4d-1']);
    b.print();
    await b.look(30);
    await eventually(() => b.touched.length === 2);
  });

  it('what was printed before the first look says nothing', async () => {
    const b = await bench();
    b.print();
    await b.look(30);
    await b.look(30);
    expect(b.touched).toEqual([]);
  });

  it('is not asked with every pass', async () => {
    const b = await bench();
    const once = await b.look(30);
    for (let pass = 0; pass < 5; pass += 1) expect(await b.look(5)).toBe(once);
  });

  it('one that cannot be asked is asked again', async () => {
    const b = await bench();
    await b.look(30);
    b.driver.faults.isUnreachable = true;
    await b.look(30);
    b.driver.faults.isUnreachable = false;
    b.print();
    await b.look(30);
    await eventually(() => b.touched.length === 1);
    expect(b.touched).toHaveLength(1);
  });
});
