import { buffer } from 'node:stream/consumers';
import type pg from 'pg';
import { describe, expect, it } from '@jest/globals';
import { HangarError, validateEvent, type TerminalEvents } from '@hangar/contracts';
import type { HarnessAdapter } from '@hangar/harness-adapters';
import { fakeAdapter } from '@hangar/harness-adapters/fake';
import type { LeasedEffect } from '@hangar/messaging';
import { createMemoryLog } from '@hangar/messaging/memory';
import { createFakeDriver, type FakeTerminal } from '@hangar/sandbox-drivers/fake';
import { eventually } from '@hangar/testing';
import { CONVERSATION, SANDBOX, TRANSCRIPT, createSandbox, fakeBus } from './testing/run-bench.ts';
import { createTerminals, TALK } from './terminal.service.ts';
import type { TerminalCommand } from './terminal.decider.ts';
import { createTerminalWorker, type TerminalWorkerOptions } from './terminal.worker.ts';

const ID = 'trm-1a2b3c4d-1';
const WHOLE = `${JSON.stringify({ type: 'session', id: CONVERSATION })}\n`;

async function bench(options: Partial<TerminalWorkerOptions> = {}, idle_minutes = 30) {
  const clock = { nowMs: Date.parse('2030-01-01T12:00:00.000Z') };
  const now = (): Date => new Date(clock.nowMs);
  const started: string[] = [];
  const driver = createFakeDriver({
    terminal: ({ id }) => void started.push(id),
    run: () => undefined,
  });
  const place = await createSandbox(driver);
  const ref = { id: SANDBOX, instance: place.instance };
  await driver.files.put(ref, TRANSCRIPT, Buffer.from(WHOLE));
  const store = createMemoryLog().store({ owns: ['terminal'], validate: validateEvent });
  const terminals = createTerminals(undefined as unknown as pg.Pool, store);
  const bus = fakeBus();
  const worker = createTerminalWorker({
    terminals,
    nats: bus.nats,
    io: driver,
    adapter: () => fakeAdapter,
    runVariables: async () => ({ envVars: { SITE: 'here' }, askable: [], secrets: [] }),
    now,
    ...options,
  });
  const meta = { actor: 'service:test', cause: null, correlation: 'x' };
  const tell = async (command: Omit<TerminalCommand, 'now'>): Promise<void> => {
    await terminals.execute(ID, { ...command, now: now().toISOString() } as TerminalCommand, {
      meta,
    });
    bus.tell();
  };
  const data = {
    terminal_id: ID,
    session_id: 'ses-1a2b3c4d',
    epoch: 1,
    owner: 'ada',
    environment: 'default',
    place,
    harness: 'fake',
    harness_session: CONVERSATION,
    cols: 100,
    rows: 30,
    idle_minutes,
    turn: 2,
  };
  await tell({ type: 'StartTerminal', data });
  const types = async () => (await store.load(`terminal/${ID}`)).events.map(({ type }) => type);
  return {
    clock,
    driver,
    ref,
    started,
    tell,
    types,
    execute: (signal = new AbortController().signal, attempt = 1): Promise<void> => {
      const payload = { terminal_id: ID, correlation: 'ses-1a2b3c4d' };
      const effect: LeasedEffect = {
        key: `terminal/${ID}`,
        kind: TALK,
        stream: `terminal/${ID}`,
        payload,
        attempt,
        done: async () => undefined,
      };
      return worker.talk(effect, signal);
    },
    isStarted: () => eventually(async () => (await types()).includes('TerminalStarted')),
    terminal: (): FakeTerminal => {
      const found = driver.terminal(SANDBOX, ID);
      if (!found) throw new Error('it was not started');
      return found;
    },
    ended: async (): Promise<TerminalEvents['TerminalEnded']> => {
      const { events } = await store.load(`terminal/${ID}`);
      const event = events.find(({ type }) => type === 'TerminalEnded');
      if (!event) throw new Error('it has not ended');
      return event.data as unknown as TerminalEvents['TerminalEnded'];
    },
  };
}

describe('the agent itself in a terminal [X8]', () => {
  it('is started in its conversation, and on record as ended when it was left', async () => {
    const b = await bench();
    const work = b.execute();
    await b.isStarted();
    const { request } = b.terminal();
    expect(request.argv).toContain(CONVERSATION);
    expect(request).toMatchObject({ cwd: '/workspace/app', cols: 100, rows: 30 });
    expect(request.envVars).toMatchObject({ SITE: 'here', COLORTERM: 'truecolor' });
    b.terminal().exit({ kind: 'exited', code: 0 });
    await work;
    expect(await b.ended()).toMatchObject({ reason: 'the agent was left', exit_code: 0 });
    await b.execute();
    expect(await b.types()).toEqual(['TerminalRequested', 'TerminalStarted', 'TerminalEnded']);
  });

  it('goes on without this service, and is found again by the next [M6]', async () => {
    const b = await bench();
    const lease = new AbortController();
    const first = b.execute(lease.signal);
    await b.isStarted();
    lease.abort();
    await expect(first).rejects.toThrow('aborted');
    const second = b.execute(undefined, 2);
    b.terminal().exit({ kind: 'exited', code: 3 });
    await second;
    expect(b.started).toEqual([ID]);
    expect(await b.ended()).toMatchObject({ exit_code: 3 });
  });

  it('that started and is not there any more has ended, and is not started again', async () => {
    const b = await bench();
    await b.tell({ type: 'MarkTerminalStarted', data: {} });
    await b.execute(undefined, 2);
    expect(b.started).toEqual([]);
    expect((await b.ended()).reason).toContain('not there any more');
  });

  it('is closed when somebody says so', async () => {
    const b = await bench();
    const work = b.execute();
    await b.isStarted();
    await b.tell({ type: 'EndTerminal', data: { reason: 'ended by a person' } });
    await work;
    expect((await b.ended()).reason).toBe('ended by a person');
    expect(b.driver.terminal(SANDBOX, ID)).toBeUndefined();
  });

  it('is not started when it is not wanted any more', async () => {
    const b = await bench();
    await b.tell({ type: 'EndTerminal', data: { reason: 'ended by a person' } });
    await b.execute();
    expect(b.started).toEqual([]);
    expect((await b.ended()).reason).toBe('ended by a person');
  });

  it('ends when nobody was there and nothing was printed for as long as makes a session idle', async () => {
    const b = await bench({ lookMs: 5 });
    const work = b.execute();
    await b.isStarted();
    const view = await b.driver.terminals.attach(b.ref, ID, {
      from: 0,
      size: { cols: 80, rows: 24 },
    });
    const looks = countLooks(b.driver);
    await looks.some();
    b.clock.nowMs += 31 * 60_000;
    await looks.some();
    expect(await b.types()).not.toContain('TerminalEnded');
    await view.detach();
    await looks.some();
    b.clock.nowMs += 29 * 60_000;
    b.terminal().print('still at it');
    await looks.some();
    b.clock.nowMs += 29 * 60_000;
    await looks.some();
    expect(await b.types()).not.toContain('TerminalEnded');
    b.clock.nowMs += 2 * 60_000;
    await work;
    expect((await b.ended()).reason).toBe('nobody was there for 30 minutes');
    expect(b.driver.terminal(SANDBOX, ID)).toBeUndefined();
  });

  it('goes with its sandbox; of one that cannot be asked nothing is said [S5]', async () => {
    const b = await bench();
    b.driver.faults.isUnreachable = true;
    await expect(b.execute()).rejects.toMatchObject({ code: 'unavailable' });
    b.driver.faults.isUnreachable = false;
    const work = b.execute(undefined, 2);
    await b.isStarted();
    b.driver.vanish(SANDBOX);
    await work;
    expect((await b.ended()).reason).toBe('its sandbox is gone');
  });

  it('ends the run of the turn before that was given up and still lives [M5]', async () => {
    const b = await bench();
    const stray = { argv: ['agent'], cwd: '/', envVars: {} };
    await b.driver.runs.start(b.ref, 'run-1a2b3c4d-2', stray);
    const work = b.execute();
    await b.isStarted();
    expect(b.driver.run(SANDBOX, 'run-1a2b3c4d-2')?.signals).toEqual(['SIGKILL']);
    b.terminal().exit();
    await work;
  });

  it('says why it was not started: no conversation, no secret, a harness that cannot', async () => {
    const lost = await bench();
    await lost.driver.files.remove(lost.ref, TRANSCRIPT);
    await lost.execute();
    expect((await lost.ended()).reason).toContain('the conversation is not there');

    const { talk: _talk, ...mute } = fakeAdapter;
    const cannot = await bench({ adapter: () => mute as HarnessAdapter });
    await cannot.execute();
    expect((await cannot.ended()).reason).toContain('cannot be talked with');

    const runVariables = async (): Promise<never> => {
      throw new HangarError('conflict', 'the secret KEY is not set', { hint: 'set it' });
    };
    const poor = await bench({ runVariables });
    await poor.execute();
    expect((await poor.ended()).reason).toBe('the secret KEY is not set; set it');
    expect(poor.started).toEqual([]);
  });

  it('sets what the CLI would ask about, and keeps what else is in its file', async () => {
    const settings = [{ path: '.cli.json', values: { trusted: true } }];
    const adapter: HarnessAdapter = {
      ...fakeAdapter,
      talk: (spec) => ({ ...fakeAdapter.talk!(spec), settings }),
    };
    const b = await bench({ adapter: () => adapter });
    await b.driver.files.put(b.ref, '/home/agent/.cli.json', Buffer.from('{"theme":"dark"}'));
    const work = b.execute();
    await b.isStarted();
    const file = await b.driver.files.get(b.ref, '/home/agent/.cli.json');
    expect(JSON.parse((await buffer(file!.body)).toString())).toEqual({
      theme: 'dark',
      trusted: true,
    });
    b.terminal().exit();
    await work;
  });

  it('what nobody foresaw is tried again, and told in the end, with nothing left running', async () => {
    const runVariables = async (): Promise<never> => {
      throw new TypeError('a bug');
    };
    const b = await bench({ runVariables });
    for (const attempt of [1, 2, 3])
      await expect(b.execute(undefined, attempt)).rejects.toThrow('a bug');
    await b.execute(undefined, 4);
    expect((await b.ended()).reason).toContain('a bug');
  });
});

/** Waits until the worker has looked at its terminal some times more. */
function countLooks(driver: ReturnType<typeof createFakeDriver>): { some(): Promise<void> } {
  let looks = 0;
  const { list } = driver.terminals;
  driver.terminals.list = (ref) => {
    looks += 1;
    return list(ref);
  };
  return {
    some: async () => {
      const until = looks + 3;
      await eventually(() => looks >= until);
    },
  };
}
