import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LimitsDocument } from '@hangar/contracts';
import { LimitBench, RECIPE, type LimitTests } from './testing/limits/bench.ts';
import { requestLimits } from './testing/limits/request-limits.ts';
import { sessionLimits } from './testing/limits/session-limits.ts';
import { terminalLimits } from './testing/limits/terminal-limits.ts';
import { webhookLimits } from './testing/limits/webhook-limits.ts';
import { workerLimits } from './testing/limits/worker-limits.ts';

const TESTS: LimitTests = {
  ...sessionLimits,
  ...requestLimits,
  ...workerLimits,
  ...terminalLimits,
  ...webhookLimits,
};
const TEST_MS_MAX = 60_000;

let bench: LimitBench;
let limits: LimitsDocument['limits'];
beforeAll(async () => {
  bench = await LimitBench.start();
  const at = `GET /api/limits?environment=${RECIPE.name}&harness=fake`;
  ({ limits } = (await bench.call<LimitsDocument>(at)).body);
}, 120_000);
afterAll(() => bench.stack.close(), 60_000);
afterEach(async () => {
  for (const type of bench.stack.spokes.held) await bench.stack.spokes.release(type);
  if (bench.stack.errors.length > 0)
    throw new AggregateError(bench.stack.errors, 'the gateway told of errors');
});

describe('GET /api/limits tells what happens [S8]', () => {
  it('each limit that it shows has a test here, and each test a limit', () => {
    expect(limits.map(({ name }) => name).toSorted()).toEqual(Object.keys(TESTS).toSorted());
  });

  it.each(Object.entries(TESTS))(
    '%s is what happens',
    async (name, test) => {
      const limit = limits.find((one) => one.name === name);
      expect(limit).toMatchObject({ value: expect.any(Number) });
      await test(Number(limit?.value), bench);
    },
    TEST_MS_MAX,
  );
});
