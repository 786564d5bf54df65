import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { fakeAdapter } from '@hangar/harness-adapters/fake';
import type { RunFollow } from '@hangar/sandbox-drivers';
import { createFakeDriver, type FakeDriver, type FakeRun } from '@hangar/sandbox-drivers/fake';
import { DONE, print } from './testing/run-bench.ts';
import { driveTurn, type ProcessEnd, type StopReason } from './turn-process.ts';

const SESSION = { type: 'session', id: 'conversation-1' };
const SETTLED_MS = 1;
/** At least the longest pause between two tries. */
const RETRY_MS = 10_000;

/** Only what waits is faked; streams and promises go on by themselves. */
beforeEach(() => {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'],
  });
});
afterEach(() => {
  jest.useRealTimers();
});

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

const pass = async (ms: number): Promise<void> => {
  await settled();
  await jest.advanceTimersByTimeAsync(ms - SETTLED_MS);
  await jest.advanceTimersByTimeAsync(SETTLED_MS);
  await settled();
};

interface Driven {
  driver: FakeDriver;
  run(): FakeRun;
  end: Promise<ProcessEnd>;
  stop(reason: StopReason): void;
}

/** `spoil`: changes the driver before the first byte is read. */
async function drive(
  play: (run: FakeRun) => void,
  spoil: (driver: FakeDriver) => void = () => undefined,
): Promise<Driven> {
  const driver = createFakeDriver({ run: play });
  const ref = await driver.create({
    id: 'sbx-1',
    sessionId: 'ses-1',
    cwd: '/workspace',
    envVars: {},
    network: 'open',
    mounts: [],
    resources: {},
  });
  await driver.runs.start(ref, 'run-1', { argv: ['agent'], cwd: '/', envVars: {} });
  spoil(driver);
  const stop = new AbortController();
  const protocol = fakeAdapter.protocol({
    runId: 'run-1',
    messageId: 'msg-1',
    prompt: 'do it',
    cwd: '/',
    home: '/home/agent',
    node: 'node',
    harnessRoot: '/',
    model: null,
    conversationId: 'conversation-1',
    resume: false,
    envVars: {},
    asksLeave: false,
    keyCommands: {},
    answered: null,
  });
  const driven = driveTurn(
    {
      io: driver,
      ref,
      processId: 'run-1',
      protocol,
      expectedConversation: 'conversation-1',
      record: {
        delivered: async () => undefined,
        returned: async () => undefined,
        asked: async () => null,
        answered: async () => undefined,
        closed: async () => undefined,
        tool: async () => undefined,
      },
      onSaid: () => undefined,
      stop: stop.signal,
      signal: new AbortController().signal,
    },
    { messages: [], asks: [], deferring: null },
  );
  const { end } = driven;
  end.catch(() => undefined);
  await settled();
  return {
    driver,
    run: () => {
      const run = driver.run('sbx-1', 'run-1');
      if (!run) throw new Error('the run is not there');
      return run;
    },
    end,
    stop: (reason) => stop.abort(reason),
  };
}

const onTerm = (run: FakeRun, act: () => void): void => {
  const { signals } = run;
  const push = signals.push.bind(signals);
  signals.push = (...items: string[]) => {
    if (items.includes('SIGTERM')) queueMicrotask(act);
    return push(...items);
  };
};

describe('stopping a turn [M8]', () => {
  it("begins with the harness's own interrupt, then TERM after 10 s, then KILL after 5 s", async () => {
    const driven = await drive((run) => print(run, SESSION));
    driven.stop('cancelled');
    await settled();
    expect(driven.run().inputs.map(({ key }) => key)).toEqual(['prompt', 'interrupt']);
    await pass(9_000);
    expect(driven.run().signals).toEqual([]);
    await pass(1_000);
    expect(driven.run().signals).toEqual(['SIGTERM']);
    await pass(5_000);
    expect(driven.run().signals.slice(0, 2)).toEqual(['SIGTERM', 'SIGKILL']);
    expect(await driven.end).toMatchObject({ kind: 'result', result: { outcome: 'cancelled' } });
  });

  it('needs no KILL where TERM was enough', async () => {
    const driven = await drive((run) => {
      print(run, SESSION);
      onTerm(run, () => run.exit({ kind: 'exited', code: 143 }));
    });
    driven.stop('timed_out');
    await pass(10_000);
    const end = await driven.end;
    expect(end).toMatchObject({
      kind: 'result',
      exitCode: 143,
      result: { outcome: 'cancelled', error: { message: 'the turn was at its time limit' } },
    });
  });

  it('sends a KILL again that could not be delivered', async () => {
    const driven = await drive((run) => print(run, SESSION));
    driven.stop('cancelled');
    await pass(10_000);
    driven.driver.faults.isUnreachable = true;
    await pass(5_000);
    expect(driven.run().exited).toBeNull();
    driven.driver.faults.isUnreachable = false;
    await pass(5_000);
    expect(driven.run().exited).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
    expect(await driven.end).toMatchObject({ kind: 'result' });
  });

  it('keeps the end of a turn that succeeded meanwhile', async () => {
    const driven = await drive((run) => {
      print(run, SESSION);
      run.onInput(({ key }) => {
        if (key === 'interrupt') {
          print(run, { type: 'said', text: 'just done' }, DONE);
          run.exit();
        }
      });
    });
    driven.stop('cancelled');
    expect(await driven.end).toMatchObject({
      result: { outcome: 'succeeded', summary: 'just done' },
    });
  });
});

describe('the end of a turn', () => {
  it('ends a harness that stays after its result: TERM after 30 s, then KILL', async () => {
    const driven = await drive((run) => print(run, SESSION, { type: 'said', text: 'ok' }, DONE));
    await settled();
    expect(driven.run().inputs.at(-1)).toMatchObject({ key: 'eof', chunk: 'eof' });
    await pass(30_000);
    expect(driven.run().signals).toEqual(['SIGTERM']);
    await pass(5_000);
    expect(await driven.end).toMatchObject({
      kind: 'result',
      exitCode: null,
      result: { outcome: 'succeeded', summary: 'ok' },
    });
  });

  it('of a process that left before its result is a failure with its last words', async () => {
    const driven = await drive((run) => {
      run.printError('out of memory');
      run.exit({ kind: 'exited', code: 137 });
    });
    expect(await driven.end).toMatchObject({
      kind: 'result',
      exitCode: 137,
      result: { outcome: 'failed', error: { message: expect.stringContaining('out of memory') } },
    });
  });

  it('of a process that somebody killed is an interruption, not a failure [S3]', async () => {
    const driven = await drive((run) => run.exit({ kind: 'signalled', signal: 'SIGKILL' }));
    expect(await driven.end).toEqual({
      kind: 'vanished',
      reason: 'the agent was killed (SIGKILL)',
    });
  });

  it('is waited for while the sandbox cannot be asked, for as long as it takes [S5]', async () => {
    let asked = 0;
    const driven = await drive(
      (run) => print(run, SESSION),
      ({ runs }) => {
        const follow = runs.follow.bind(runs);
        runs.follow = async (...how) => {
          asked += 1;
          return asked < 20 ? lost() : follow(...how);
        };
      },
    );
    driven.driver.faults.isUnreachable = true;
    for (let round = 0; round < 10; round += 1) await pass(RETRY_MS);
    expect(asked).toBe(1);
    driven.driver.faults.isUnreachable = false;
    for (let round = 0; round < 20; round += 1) await pass(RETRY_MS);
    expect(asked).toBe(20);
    print(driven.run(), { type: 'said', text: 'still there' }, DONE);
    driven.run().exit();
    await settled();
    expect(await driven.end).toMatchObject({ result: { summary: 'still there' } });
  });

  it('that is not found after its sandbox answered for it is asked about again [S5]', async () => {
    let asked = 0;
    const driven = await drive(
      (run) => print(run, SESSION),
      ({ runs }) => {
        const follow = runs.follow.bind(runs);
        runs.follow = async (...how) => {
          asked += 1;
          if (asked === 1) throw new HangarError('not_found', 'never heard of it');
          return follow(...how);
        };
      },
    );
    await pass(RETRY_MS);
    expect(asked).toBe(2);
    print(driven.run(), { type: 'said', text: 'still there' }, DONE);
    driven.run().exit();
    await settled();
    expect(await driven.end).toMatchObject({ result: { summary: 'still there' } });
  });

  it('is over when its sandbox is not there any more', async () => {
    const driven = await drive((run) => print(run, SESSION));
    driven.driver.runs.status = () => Promise.reject(new HangarError('not_found', 'it is gone'));
    driven.run().exit({ kind: 'connection_lost' });
    await pass(RETRY_MS);
    expect(await driven.end).toMatchObject({ kind: 'sandbox_gone' });
  });
});

const lost = (): RunFollow => ({
  stdout: Readable.from([]),
  stderr: Readable.from([]),
  exit: Promise.resolve({ kind: 'connection_lost' }),
});

describe('what a harness prints', () => {
  it('may hold anything: bytes that are no text, lines of megabytes, no JSON', async () => {
    const driven = await drive((run) => {
      print(run, SESSION);
      run.print(Buffer.from([0xff, 0xfe, 0x0a, 0x00, 0x0a]));
      run.print('{"type":"done","outcome":"succ\n[[[[\nnull\n42\n"text"\n');
      run.print(`${'x'.repeat(9 * 1024 * 1024)}\n`);
      print(run, { type: 'said', text: 'after all that' }, DONE);
      run.exit();
    });
    expect(await driven.end).toMatchObject({
      result: { outcome: 'succeeded', summary: 'after all that' },
    });
  });

  it('as its errors is kept to the last 16 KiB', async () => {
    const driven = await drive((run) => {
      for (let part = 0; part < 10; part += 1) run.printError('e'.repeat(1024 * 1024));
      run.printError('the end');
      run.exit({ kind: 'exited', code: 1 });
    });
    const end = await driven.end;
    expect(end).toMatchObject({
      result: { error: { message: expect.stringContaining('the end') } },
    });
  });
});
