import { describe, expect, it } from '@jest/globals';
import { buffer } from 'node:stream/consumers';
import { HangarError } from '@hangar/contracts';
import { fakeAdapter } from '@hangar/harness-adapters/fake';
import { eventually } from '@hangar/testing';
import {
  CONVERSATION,
  DONE,
  SANDBOX,
  TRANSCRIPT,
  answering,
  createRunBench,
  print,
  sessionOf,
  unavailable,
  working,
  type RunBench,
} from './testing/run-bench.ts';

const typesOf = async (bench: RunBench): Promise<string[]> =>
  (await bench.events()).map((event) => event.type);

/** The transcript of the conversation, as it lies in the sandbox. */
async function writeTranscript(bench: RunBench, text: string): Promise<void> {
  const { sandbox_id, instance } = bench.request.place;
  await bench.driver.files.put({ id: sandbox_id, instance }, TRANSCRIPT, Buffer.from(text));
}

async function readTranscript(bench: RunBench): Promise<string> {
  const { sandbox_id, instance } = bench.request.place;
  const file = await bench.driver.files.get({ id: sandbox_id, instance }, TRANSCRIPT);
  return file ? (await buffer(file.body)).toString() : '';
}

const WHOLE = `${JSON.stringify({ type: 'session', id: CONVERSATION })}\n`;
const RESUMED = { resume: true, harness_session: CONVERSATION, handoff: 'what happened so far' };

describe('a run', () => {
  it('is started, delivered and finished, each once [M7]', async () => {
    const bench = await createRunBench();
    await bench.start();
    await bench.execute();
    expect(await typesOf(bench)).toEqual([
      'RunRequested',
      'RunStarted',
      'RunMessageDelivered',
      'RunFinished',
    ]);
    expect(await bench.ended('RunFinished')).toMatchObject({
      outcome: 'succeeded',
      exit_code: 0,
      summary: 'all done',
      conversation: 'native',
    });
    await bench.execute({ attempt: 2 });
    expect(await typesOf(bench)).toHaveLength(4);
  });

  it('with rules does not start on a harness that would not keep them [A3]', async () => {
    const { capabilities } = fakeAdapter;
    const adapter = { ...fakeAdapter, capabilities: { ...capabilities, approvals: false } };
    const rules = [{ tool: 'Bash', pattern: '*', verdict: 'deny' }];
    for (const [permissions, outcome] of [
      [{ mode: 'all', rules }, 'failed'],
      [{ mode: 'ask', rules: [] }, 'failed'],
      [{ mode: 'all', rules: [] }, 'succeeded'],
    ] as const) {
      const bench = await createRunBench({ adapter: () => adapter });
      await bench.start({ permissions: { ...permissions, rules: [...permissions.rules] } });
      await bench.execute();
      expect(await bench.ended('RunFinished')).toMatchObject({ outcome });
      expect((await typesOf(bench)).includes('RunStarted')).toBe(outcome === 'succeeded');
    }
  });

  it('goes on where it was after a crash, with nothing written twice [M6]', async () => {
    const bench = await createRunBench({ play: working });
    await bench.start();
    const lease = new AbortController();
    const first = bench.execute({ signal: lease.signal });
    await eventually(async () => (await typesOf(bench)).includes('RunMessageDelivered'));
    lease.abort();
    await expect(first).rejects.toThrow('aborted');
    const second = bench.execute({ attempt: 2 });
    const run = bench.process();
    print(run, { type: 'said', text: 'went on' }, DONE);
    await eventually(() => run.inputs.some(({ key }) => key === 'eof'));
    run.exit();
    await second;
    expect(run.inputs.map(({ key }) => key)).toEqual(['prompt', 'eof']);
    expect(await bench.ended('RunFinished')).toMatchObject({ summary: 'went on' });
  });

  it('that started and is not known to the sandbox any more has vanished [S3]', async () => {
    const bench = await createRunBench();
    await bench.start();
    const meta = { actor: 'service:test', cause: null, correlation: 'x' };
    const data = { conversation: 'native' };
    await bench.runs.execute(
      bench.request.run_id,
      { type: 'MarkStarted', now: '2030-01-01T12:00:00.000Z', data },
      { meta },
    );
    await bench.execute({ attempt: 2 });
    expect(await bench.ended('RunFailed')).toMatchObject({ code: 'vanished', sandbox_gone: false });
  });

  it('in a sandbox that is gone says so, and of one that cannot be asked nothing [S5]', async () => {
    const bench = await createRunBench();
    await bench.start();
    bench.driver.faults.isUnreachable = true;
    await expect(bench.execute()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await typesOf(bench)).toEqual(['RunRequested']);
    bench.driver.faults.isUnreachable = false;
    bench.driver.vanish(SANDBOX);
    await bench.execute({ attempt: 2 });
    expect(await bench.ended('RunFailed')).toMatchObject({
      code: 'sandbox_gone',
      sandbox_gone: true,
    });
  });

  it('whose sandbox goes away in mid-turn says so [S3]', async () => {
    const bench = await createRunBench({ play: working });
    await bench.start();
    const work = bench.execute();
    await eventually(async () => (await typesOf(bench)).includes('RunMessageDelivered'));
    bench.driver.vanish(SANDBOX);
    await work;
    expect(await bench.ended('RunFailed')).toMatchObject({ sandbox_gone: true });
  });

  it('ends an agent of the turn before that was given up and still lives [M5]', async () => {
    const bench = await createRunBench();
    const { sandbox_id: id, instance } = bench.request.place;
    const stray = { argv: ['agent'], cwd: '/', envVars: {} };
    const ref = { id, instance };
    const driver = bench.driver;
    await driver.runs.start(ref, 'run-1a2b3c4d-1', stray);
    await bench.start();
    // The first run of the fake left by itself; one that goes on is played anew.
    const still = await createRunBench({ play: (run) => void run });
    const place = still.request.place;
    const stillRef = { id: place.sandbox_id, instance: place.instance };
    await still.driver.runs.start(stillRef, 'run-1a2b3c4d-1', stray);
    await still.driver.runs.start(stillRef, 'run-1a2b3c4d-1-handoff', stray);
    await still.start();
    const work = still.execute();
    await eventually(() => still.driver.run(SANDBOX, 'run-1a2b3c4d-2') !== undefined);
    expect(still.driver.run(SANDBOX, 'run-1a2b3c4d-1')?.signals).toEqual(['SIGKILL']);
    expect(still.driver.run(SANDBOX, 'run-1a2b3c4d-1-handoff')?.signals).toEqual(['SIGKILL']);
    still.driver.vanish(SANDBOX);
    await work;
  });
});

describe('a run that is not wanted any more', () => {
  it('is not started, and leaves the conversation alone [M8]', async () => {
    const bench = await createRunBench();
    await writeTranscript(bench, `${WHOLE}{"type":"us`);
    await bench.start(RESUMED);
    const meta = { actor: 'service:test', cause: null, correlation: 'x' };
    const now = '2030-01-01T12:00:00.000Z';
    const cancel = { type: 'CancelRun' as const, now, data: { reason: 'a person said so' } };
    await bench.runs.execute(bench.request.run_id, cancel, { meta });
    await bench.execute();
    expect(await bench.ended('RunFinished')).toMatchObject({ outcome: 'cancelled' });
    expect(bench.driver.run(SANDBOX, bench.request.run_id)).toBeUndefined();
    expect(await readTranscript(bench)).toBe(`${WHOLE}{"type":"us`);
  });

  it('is interrupted over the bus at once', async () => {
    const bench = await createRunBench({
      play: (run) => {
        working(run);
        run.onInput(({ key }) => {
          if (key === 'interrupt') print(run, { ...DONE, outcome: 'cancelled' });
          if (key === 'eof') run.exit();
        });
      },
    });
    await bench.start();
    const work = bench.execute();
    await eventually(async () => (await typesOf(bench)).includes('RunMessageDelivered'));
    const now = new Date(bench.clock.nowMs).toISOString();
    const meta = { actor: 'service:test', cause: null, correlation: 'test' };
    const command = { type: 'CancelRun' as const, now, data: { reason: 'enough' } };
    await bench.runs.execute(bench.request.run_id, command, { meta });
    bench.nudge();
    await work;
    expect(await bench.ended('RunFinished')).toMatchObject({ outcome: 'cancelled' });
  });

  it('is at its time limit also when the service was away meanwhile [M6]', async () => {
    const bench = await createRunBench({
      play: (run) => {
        working(run);
        run.onInput(({ key }) => {
          if (key === 'interrupt') run.exit({ kind: 'signalled', signal: 'SIGKILL' });
        });
      },
    });
    await bench.start({ turn_minutes: 10 });
    const lease = new AbortController();
    const first = bench.execute({ signal: lease.signal });
    await eventually(async () => (await typesOf(bench)).includes('RunMessageDelivered'));
    lease.abort();
    await expect(first).rejects.toThrow('aborted');
    bench.clock.nowMs += 11 * 60_000;
    await bench.execute({ attempt: 2 });
    const { outcome, error } = await bench.ended('RunFinished');
    expect({ outcome, error }).toEqual({
      outcome: 'timed_out',
      error: 'the turn was at its time limit',
    });
  });
});

describe('the conversation of a run', () => {
  it('goes on natively when its files are whole [R3]', async () => {
    const bench = await createRunBench();
    await writeTranscript(bench, WHOLE);
    await bench.start(RESUMED);
    await bench.execute();
    expect(bench.process().request.argv).toContain('--resume');
    expect(await bench.ended('RunFinished')).toMatchObject({
      conversation: 'native',
      harness_session: CONVERSATION,
    });
  });

  it('is repaired where it is damaged, and goes on natively', async () => {
    const bench = await createRunBench();
    await writeTranscript(bench, `${WHOLE}{"type":"us`);
    await bench.start(RESUMED);
    await bench.execute();
    expect(await readTranscript(bench)).toBe(WHOLE);
    expect(await bench.ended('RunFinished')).toMatchObject({ conversation: 'native' });
  });

  it('is handed off once where it is missing, with the story first', async () => {
    const bench = await createRunBench();
    await bench.start(RESUMED);
    await bench.execute();
    const run = bench.process('-handoff');
    const prompt = run.inputs[0]?.chunk.toString() ?? '';
    expect(prompt).toContain('what happened so far');
    expect(bench.driver.run(SANDBOX, bench.request.run_id)).toBeUndefined();
    const { conversation, harness_session } = await bench.ended('RunFinished');
    expect(conversation).toBe('handoff');
    expect(harness_session).not.toBe(CONVERSATION);
  });

  it('is handed off once when the agent speaks of another one', async () => {
    let starts = 0;
    const bench = await createRunBench({
      play: (run) => {
        starts += 1;
        if (starts === 1) print(run, { type: 'session', id: 'somebody-else' });
        else answering('handed off')(run);
      },
    });
    await writeTranscript(bench, WHOLE);
    await bench.start(RESUMED);
    await bench.execute();
    expect(bench.process().signals).toContain('SIGKILL');
    expect(await bench.ended('RunFinished')).toMatchObject({
      outcome: 'succeeded',
      summary: 'handed off',
      conversation: 'handoff',
    });
    expect(starts).toBe(2);
  });

  it('that is another one twice is a failed turn, not a third try', async () => {
    let starts = 0;
    const bench = await createRunBench({
      play: (run) => {
        starts += 1;
        print(run, { type: 'session', id: 'somebody-else' });
      },
    });
    await writeTranscript(bench, WHOLE);
    await bench.start(RESUMED);
    await bench.execute();
    expect(await bench.ended('RunFinished')).toMatchObject({ outcome: 'failed' });
    expect(starts).toBe(2);
  });

  it('is handed off when the harness itself does not find it', async () => {
    const bench = await createRunBench({
      play: (run) => {
        if (!run.request.argv.includes('--resume')) return answering('handed off')(run);
        run.printError('No conversation found with id\n');
        run.exit({ kind: 'exited', code: 1 });
      },
    });
    await writeTranscript(bench, WHOLE);
    await bench.start(RESUMED);
    await bench.execute();
    expect(await bench.ended('RunFinished')).toMatchObject({
      outcome: 'succeeded',
      conversation: 'handoff',
    });
  });
});

describe('what a run tells', () => {
  const SECRET = 'hunter2hunter2';
  const variables = async () => ({
    envVars: { PASSWORD: SECRET },
    askable: [],
    secrets: [{ name: 'PASSWORD', value: SECRET }],
  });

  it('hides the secrets of the run in its summary [Z2]', async () => {
    const bench = await createRunBench({ variables, play: answering(`it is ${SECRET}`) });
    await bench.start();
    await bench.execute();
    expect(bench.process().request.envVars['PASSWORD']).toBe(SECRET);
    const finished = await bench.ended('RunFinished');
    expect(finished.summary).toBe('it is [redacted PASSWORD]');
  });

  it('hides them in the last words of an agent that left early, and bounds them', async () => {
    const bench = await createRunBench({
      variables,
      play: (run) => {
        run.printError('x'.repeat(3 * 1024 * 1024));
        run.printError(`\nbad password ${SECRET}`);
        run.exit({ kind: 'exited', code: 2 });
      },
    });
    await bench.start();
    await bench.execute();
    const { outcome, exit_code, error = '' } = await bench.ended('RunFinished');
    expect({ outcome, exit_code }).toEqual({ outcome: 'failed', exit_code: 2 });
    expect(error).toContain('[redacted PASSWORD]');
    expect(error).not.toContain(SECRET);
    expect(error.length).toBeLessThan(9_000);
  });

  it('that are missing are told with what to do about it, whatever the CLI advises', async () => {
    const bench = await createRunBench({
      play: (run) => {
        const error = { message: 'Not logged in · Please run /login' };
        print(run, { ...DONE, outcome: 'failed', error });
        run.exit();
      },
    });
    await bench.start();
    await bench.execute();
    const { error } = await bench.ended('RunFinished');
    expect(error).toMatch(/^Not logged in .*start it with ANTHROPIC_API_KEY.* secret/);
  });

  it('hides them in an error of the sandbox', async () => {
    const bench = await createRunBench({ variables });
    await bench.start();
    bench.driver.runs.start = async () => {
      throw new HangarError('invalid', `no such argument: ${SECRET}`);
    };
    await bench.execute();
    expect((await bench.ended('RunFinished')).error).toBe('no such argument: [redacted PASSWORD]');
  });

  it('is bounded: a summary of megabytes is cut, and says so', async () => {
    const bench = await createRunBench({ play: answering('ä'.repeat(2 * 1024 * 1024)) });
    await bench.start();
    await bench.execute();
    const { summary } = await bench.ended('RunFinished');
    expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(8 * 1024 + ' [cut]'.length);
    expect(summary.endsWith('ä [cut]')).toBe(true);
  });
});

describe('a database or a way to the sandbox that is away for a moment', () => {
  const cut = (): Error => new Error('Connection terminated unexpectedly');

  it('never ends a run that is at work [O2]', async () => {
    let fails = 1;
    const bench = await createRunBench({
      wrap: (runs) => ({
        ...runs,
        execute: (id, command, options) => {
          if (command.type === 'MarkDelivered' && fails-- > 0) return Promise.reject(cut());
          return runs.execute(id, command, options);
        },
      }),
    });
    await bench.start();
    await expect(bench.execute({ attempt: 100 })).rejects.toThrow('terminated');
    expect(await typesOf(bench)).toEqual(['RunRequested', 'RunStarted']);
    await bench.execute({ attempt: 101 });
    expect(await bench.ended('RunFinished')).toMatchObject({ outcome: 'succeeded' });
  });

  it('loses no line that came with the one it was away at', async () => {
    let fails = 1;
    const bench = await createRunBench({
      wrap: (runs) => ({
        ...runs,
        execute: (id, command, options) => {
          if (command.type === 'MarkDelivered' && fails-- > 0) return Promise.reject(unavailable());
          return runs.execute(id, command, options);
        },
      }),
    });
    await bench.start();
    await expect(bench.execute()).rejects.toMatchObject({ code: 'unavailable' });
    await bench.execute({ attempt: 2 });
    expect(await bench.ended('RunFinished')).toMatchObject({ summary: 'all done' });
  });

  it('an error that nobody foresaw is tried again before it is told, and ends the agent', async () => {
    const bench = await createRunBench({
      play: (run) => {
        print(run, { type: 'session', id: sessionOf(run) });
        run.onInput(() => print(run, { type: 'accepted', id: 'msg-00000001' }));
      },
      wrap: (runs) => ({
        ...runs,
        execute: (id, command, options) =>
          command.type === 'MarkDelivered'
            ? Promise.reject(new TypeError('a mistake'))
            : runs.execute(id, command, options),
      }),
    });
    await bench.start();
    await expect(bench.execute({ attempt: 1 })).rejects.toThrow('a mistake');
    expect(bench.process().exited).toBeNull();
    await bench.execute({ attempt: 4 });
    expect(await bench.ended('RunFinished')).toMatchObject({ outcome: 'failed' });
    expect(bench.process().exited).not.toBeNull();
  });
});
