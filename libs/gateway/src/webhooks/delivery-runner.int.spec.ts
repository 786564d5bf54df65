import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  WEBHOOK_DEAD_KEPT_MAX,
  WEBHOOK_DELIVERED_KEPT_MAX,
  WEBHOOK_WAITING_MAX,
} from '@hangar/contracts';
import { createFakeClock, eventually, startTestStack, type TestStack } from '@hangar/testing';
import { openDataSource } from '../storage/data-source.ts';
import { Outbox } from '../testing/outbox.ts';
import { answer, hang, Receiver } from '../testing/receiver.ts';
import {
  SENDING_MAX,
  SENDING_TO_OWNER_MAX,
  SENDING_TO_WEBHOOK_MAX,
  type DeliveryRunner,
} from './delivery-runner.ts';

let stack: TestStack;
let outbox: Outbox;
let receiver: Receiver;
let slow: Receiver;
const runners: DeliveryRunner[] = [];
beforeAll(async () => {
  stack = await startTestStack();
  await (await openDataSource(stack.pool)).destroy();
}, 120_000);
afterAll(() => stack.close(), 60_000);
beforeEach(async () => {
  await stack.pool.query('truncate gateway.webhook cascade');
  outbox = new Outbox(stack.pool);
  [receiver, slow] = await Promise.all([Receiver.start(), Receiver.start()]);
  slow.behave = hang;
});
afterEach(async () => {
  await Promise.all([receiver.close(), slow.close()]);
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  if (outbox.errors.length > 0) throw new AggregateError(outbox.errors, 'of the runners');
});

const startRunner = (...options: Parameters<Outbox['runner']>): DeliveryRunner => {
  const runner = outbox.runner(...options);
  runners.push(runner);
  runner.start();
  return runner;
};

describe('many deliveries', () => {
  it('are sent a few at a time, each once: 1,000 take no more memory than those under way', async () => {
    const id = await outbox.webhook('ada', receiver.url());
    await outbox.fill(id, WEBHOOK_WAITING_MAX, 'x'.repeat(10_000));
    let sendingMax = 0;
    receiver.behave = (response, received) => {
      sendingMax = Math.max(sendingMax, runner.sending);
      answer(204)(response, received);
    };
    const runner = startRunner();
    await eventually(() => receiver.received.length >= WEBHOOK_WAITING_MAX, { withinMs: 90_000 });
    await eventually(async () => (await outbox.count(id, 'waiting')) === 0);
    expect(new Set(receiver.ids).size).toBe(WEBHOOK_WAITING_MAX);
    expect(receiver.received).toHaveLength(WEBHOOK_WAITING_MAX);
    expect(sendingMax).toBe(SENDING_TO_WEBHOOK_MAX);
    expect(receiver.openMax).toBeLessThanOrEqual(SENDING_TO_WEBHOOK_MAX);
    // What is kept is trimmed behind each record.
    await eventually(
      async () => (await outbox.count(id, 'delivered')) === WEBHOOK_DELIVERED_KEPT_MAX,
    );
  }, 120_000);

  it('of many owners and webhooks stay within the bounds of each', async () => {
    for (let owner = 0; owner < 7; owner += 1) {
      for (let n = 0; n < 5; n += 1) {
        await outbox.fill(await outbox.webhook(`owner-${owner}`, slow.url(`/${owner}`)), 3);
      }
    }
    const runner = startRunner();
    await slow.gets(SENDING_MAX);
    expect(runner.sending).toBe(SENDING_MAX);
    const perOwner = Object.values(Object.groupBy(slow.received, ({ path }) => path));
    for (const ofOne of perOwner) {
      expect(ofOne?.length).toBeLessThanOrEqual(SENDING_TO_OWNER_MAX);
    }
    expect(slow.received).toHaveLength(SENDING_MAX);
  }, 60_000);

  it('that wait for one webhook are bounded; what comes above is dead and says why', async () => {
    const id = await outbox.webhook('ada', receiver.url());
    await outbox.fill(id, WEBHOOK_WAITING_MAX - 1);
    for (let n = 0; n < 3; n += 1) await outbox.add(id);
    expect(await outbox.count(id, 'waiting')).toBe(WEBHOOK_WAITING_MAX);
    expect(await outbox.count(id, 'dead')).toBe(2);
    const [dead] = await outbox.deliveries.newest(stack.pool, id, 'dead');
    expect(dead).toMatchObject({ state: 'dead', attempts: 0, next_at: null });
    expect(dead?.last_error).toContain(`${WEBHOOK_WAITING_MAX} deliveries waited`);
  }, 60_000);

  it('that are dead are bounded too: the newest are kept', async () => {
    const id = await outbox.webhook('ada', receiver.url());
    await stack.pool.query(
      `insert into gateway.webhook_delivery
        (id, webhook_id, owner, event_id, type, body, state, next_at, created_at, ended_at)
      select 'old-' || n, $1, 'ada', gen_random_uuid(), 't', '{}', 'dead', now(), now(), now()
      from generate_series(1, $2::int) n`,
      [id, WEBHOOK_DEAD_KEPT_MAX],
    );
    receiver.behave = answer(410);
    await outbox.fill(id, 2);
    startRunner();
    await eventually(async () => (await outbox.count(id, 'waiting')) === 0);
    await eventually(async () => (await outbox.count(id, 'dead')) === WEBHOOK_DEAD_KEPT_MAX);
    const newest = await outbox.deliveries.newest(stack.pool, id, 'dead');
    expect(newest.slice(0, 2).map((one) => one.type)).toEqual(['webhook.test', 'webhook.test']);
  });

  it('are forgotten after 30 days', async () => {
    const clock = createFakeClock(new Date().toISOString());
    outbox = new Outbox(stack.pool, clock.now);
    const id = await outbox.webhook('ada', receiver.url());
    await outbox.add(id);
    const runner = startRunner();
    await eventually(async () => (await outbox.count(id, 'delivered')) === 1);
    clock.advance(29 * 24 * 3_600_000);
    runner.wake();
    await outbox.add(id);
    await eventually(async () => (await outbox.count(id, 'delivered')) === 2);
    clock.advance(2 * 24 * 3_600_000);
    runner.wake();
    await eventually(async () => (await outbox.count(id, 'delivered')) === 1);
    expect(receiver.received).toHaveLength(2);
  });
});

describe('a receiver that does not answer', () => {
  it('does not hold up others, of the same owner or of another', async () => {
    const hanging = await outbox.webhook('ada', slow.url());
    await outbox.fill(hanging, 40);
    const [own, other] = [
      await outbox.webhook('ada', receiver.url('/own')),
      await outbox.webhook('bob', receiver.url('/other')),
    ];
    await outbox.fill(own, 20);
    await outbox.fill(other, 20);
    const runner = startRunner();
    await receiver.gets(40);
    expect(slow.received).toHaveLength(SENDING_TO_WEBHOOK_MAX);
    await eventually(() => runner.sending === SENDING_TO_WEBHOOK_MAX);
    expect(await outbox.count(hanging, 'waiting')).toBe(40);
  });

  it('is cut by the deadline, as is one that never ends its answer', async () => {
    const deadlines: AbortController[] = [];
    const deadline = (): AbortSignal => {
      deadlines.push(new AbortController());
      return deadlines.at(-1)!.signal;
    };
    const id = await outbox.webhook('ada', slow.url());
    const hung = await outbox.add(id);
    startRunner({ deadline });
    await slow.gets(1);
    deadlines[0]!.abort();
    const found = await eventually(async () => {
      const one = await outbox.deliveries.find(stack.pool, id, hung);
      return one?.last_error ? one : undefined;
    });
    expect(found).toMatchObject({ state: 'waiting', attempts: 1, last_status: null });
    expect(found.last_error).toBe('no answer within 10 s');
    slow.behave = (response) => response.writeHead(200).write('and then');
    await outbox.add(id);
    await slow.gets(2);
    await eventually(() => deadlines.length === 2);
    const cut = setInterval(() => deadlines[1]!.abort(), 100);
    await eventually(async () => (await outbox.count(id, 'delivered')) === 1);
    clearInterval(cut);
  });

  it('may send as much as it likes: 64 KiB are taken in', async () => {
    let written = 0;
    slow.behave = (response) => {
      response.writeHead(200);
      const more = (): void => {
        if (response.destroyed) return;
        written += 65_536;
        response.write('x'.repeat(65_536), more);
      };
      more();
    };
    const id = await outbox.webhook('ada', slow.url());
    await outbox.add(id);
    startRunner();
    await eventually(async () => (await outbox.count(id, 'delivered')) === 1);
    // What the kernel buffers on the way comes on top of what was taken in.
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });
});

describe('several gateways', () => {
  it('send each delivery once', async () => {
    const ids = await Promise.all(
      ['ada', 'bob', 'cem'].map((owner) => outbox.webhook(owner, receiver.url())),
    );
    for (const id of ids) await outbox.fill(id, 100);
    for (let n = 0; n < 3; n += 1) startRunner();
    await receiver.gets(300);
    await eventually(async () => {
      const left = await Promise.all(ids.map((id) => outbox.count(id, 'waiting')));
      return left.every((count) => count === 0);
    });
    expect(receiver.received).toHaveLength(300);
    expect(new Set(receiver.ids).size).toBe(300);
  }, 60_000);

  it('send again, under the same id, what one was killed over after it was sent [O2]', async () => {
    const id = await outbox.webhook('ada', slow.url());
    const sent = await outbox.add(id);
    const script = fileURLToPath(new URL('../testing/webhook-replica.ts', import.meta.url));
    const replica = fork(script, [stack.databaseUrl, slow.url()], {
      execArgv: ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await eventually(() => slow.received.length === 1, { withinMs: 60_000 });
    replica.kill('SIGKILL');
    await once(replica, 'exit');
    slow.behave = answer(200);
    startRunner();
    // The lease holds: nobody takes what another may still be sending.
    const taken = await outbox.deliveries.take(stack.pool, [], []);
    expect(taken).toBeUndefined();
    await outbox.endLeases();
    await eventually(async () => (await outbox.count(id, 'delivered')) === 1);
    expect(slow.ids).toEqual([sent, sent]);
    expect(await outbox.deliveries.find(stack.pool, id, sent)).toMatchObject({ attempts: 2 });
  }, 90_000);

  it('do not let a late one record what another has taken over', async () => {
    const id = await outbox.webhook('ada', receiver.url());
    const sent = await outbox.add(id);
    const late = await outbox.deliveries.take(stack.pool, [], []);
    await outbox.endLeases();
    const owner = await outbox.deliveries.take(stack.pool, [], []);
    await outbox.deliveries.dead(stack.pool, late!, { status: 500, error: 'late' });
    await outbox.deliveries.delivered(stack.pool, late!, 200);
    expect(await outbox.count(id, 'waiting')).toBe(1);
    await outbox.deliveries.delivered(stack.pool, owner!, 200);
    expect(await outbox.deliveries.find(stack.pool, id, sent)).toMatchObject({
      state: 'delivered',
      attempts: 2,
    });
  });

  it('leave to others what they were sending when they ended, uncounted', async () => {
    const id = await outbox.webhook('ada', slow.url());
    const sent = await outbox.add(id);
    const ending = outbox.runner();
    ending.start();
    await slow.gets(1);
    await ending.stop();
    const found = await outbox.deliveries.find(stack.pool, id, sent);
    expect(found).toMatchObject({ state: 'waiting', attempts: 0 });
    slow.behave = answer(200);
    startRunner();
    await eventually(async () => (await outbox.count(id, 'delivered')) === 1);
  });
});
