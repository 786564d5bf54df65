import { describe, expect, it } from '@jest/globals';
import { fakeAdapter } from '@hangar/harness-adapters/fake';
import type { HarnessAdapter, HarnessEvent, ProtocolStep } from '@hangar/harness-adapters';
import type { FakeRun } from '@hangar/sandbox-drivers/fake';
import { eventually } from '@hangar/testing';
import type { RunCommand } from './run.decider.ts';
import {
  CONVERSATION,
  DONE,
  createRunBench,
  print,
  sessionOf,
  type RunBench,
} from './testing/run-bench.ts';

const MINUTE_MS = 60_000;
const QUESTION = { id: 'toolu_01', kind: 'question', questions: [] };
const ANSWER = { verdict: 'allow', answers: [{ question_id: 'which', text: 'B' }], reason: '' };

/** The fake harness with asks and messages: what is said to it, it is told as it is. */
const live: HarnessAdapter = {
  ...fakeAdapter,
  protocol: (turn) => {
    const plain = fakeAdapter.protocol(turn);
    const write = (key: string): ProtocolStep => ({ events: [], inputs: [{ key, line: key }] });
    return Object.assign(plain, {
      line: (line: string): ProtocolStep => {
        const json = JSON.parse(line) as { event?: HarnessEvent };
        if (json.event) return { events: [json.event], inputs: [] };
        return Object.getPrototypeOf(plain).line.call(plain, line) as ProtocolStep;
      },
      steer: ({ messageId }: { messageId: string }) => write(`steer ${messageId}`),
      withdraw: (id: string) => write(`withdraw ${id}`),
      answer: (id: string) => write(`answer ${id}`),
      defer: () => write('defer'),
    });
  },
};

const event = (of: object): object => ({ event: of });
const asks: object = event({ type: 'asked', ask: QUESTION });
const closes: object = event({ type: 'ask_closed', id: QUESTION.id });

const idOf = (chunk: Buffer | 'eof'): string => (JSON.parse(chunk.toString()) as { id: string }).id;

/** Takes its message and asks. */
const asking = (run: FakeRun): void => {
  print(run, { type: 'session', id: sessionOf(run) });
  run.onInput(({ key, chunk }) => {
    if (key === 'prompt') print(run, { type: 'accepted', id: idOf(chunk) }, asks);
    if (chunk === 'eof') run.exit();
  });
};

const typesOf = async (bench: RunBench): Promise<string[]> =>
  (await bench.events()).map(({ type }) => type);

/** As the policy does it: on record, then the bus says so. */
async function say(bench: RunBench, command: Pick<RunCommand, 'type' | 'data'>): Promise<void> {
  const now = new Date(bench.clock.nowMs).toISOString();
  const meta = { actor: 'service:test', cause: null, correlation: bench.request.session_id };
  await bench.runs.execute(bench.request.run_id, { ...command, now } as RunCommand, { meta });
  bench.nudge();
}

const answer = { type: 'GiveAnswer', data: { ask_id: QUESTION.id, answer: ANSWER } } as const;
const steer = { type: 'SteerRun', data: { message_id: 'msg-2', text: 'also this' } } as const;

describe('a run that waits on a person', () => {
  it('does so for days and over a restart, and is not timed out by that [A2] [M6] [M7]', async () => {
    const bench = await createRunBench({ play: asking, adapter: () => live });
    await bench.start();
    const lease = new AbortController();
    const first = bench.execute({ signal: lease.signal });
    await eventually(async () => (await typesOf(bench)).includes('RunAsked'));
    bench.clock.nowMs += 3 * 24 * 60 * MINUTE_MS;
    bench.nudge();
    lease.abort();
    await expect(first).rejects.toThrow('aborted');
    const second = bench.execute({ attempt: 2 });
    await say(bench, answer);
    const run = bench.process();
    await eventually(() => run.inputs.some(({ key }) => key === 'answer toolu_01'));
    print(run, closes);
    await eventually(async () => (await typesOf(bench)).includes('RunAskClosed'));
    // Its time counts from the answer, not from the start.
    bench.clock.nowMs += 59 * MINUTE_MS;
    print(run, { type: 'said', text: 'went on' }, DONE);
    await second;
    expect(await bench.ended('RunFinished')).toMatchObject({
      outcome: 'succeeded',
      summary: 'went on',
    });
    expect(run.inputs.map(({ key }) => key)).toEqual(['prompt', 'answer toolu_01', 'eof']);
  });

  it('counts from the answer after a restart, and is timed out then [M7]', async () => {
    const bench = await createRunBench({ play: asking, adapter: () => live });
    await bench.start();
    const lease = new AbortController();
    const first = bench.execute({ signal: lease.signal });
    await eventually(async () => (await typesOf(bench)).includes('RunAsked'));
    bench.clock.nowMs += 24 * 60 * MINUTE_MS;
    print(bench.process(), closes);
    await eventually(async () => (await typesOf(bench)).includes('RunAskClosed'));
    lease.abort();
    await expect(first).rejects.toThrow('aborted');
    bench.clock.nowMs += 60 * MINUTE_MS;
    const second = bench.execute({ attempt: 2 });
    const run = bench.process();
    await eventually(() => run.inputs.some(({ key }) => key === 'interrupt'));
    print(run, { type: 'done', outcome: 'cancelled', usage: {} });
    await second;
    expect(await bench.ended('RunFinished')).toMatchObject({ outcome: 'timed_out' });
  });

  it('ends on its question when it shall, and says so [A2]', async () => {
    const bench = await createRunBench({ play: asking, adapter: () => live });
    await bench.start();
    const executed = bench.execute();
    await eventually(async () => (await typesOf(bench)).includes('RunAsked'));
    await say(bench, { type: 'DeferRun', data: { reason: 'waited 30 minutes for an answer' } });
    const run = bench.process();
    await eventually(() => run.inputs.some(({ key }) => key === 'defer'));
    const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
    const result = { outcome: 'deferred', summary: '', usage };
    print(run, closes, event({ type: 'ended', result }));
    await executed;
    expect(await bench.ended('RunFinished')).toMatchObject({ outcome: 'deferred' });
  });
});

describe('a message for the running turn', () => {
  it('offered before the process is there is told to it, and put on record [M3]', async () => {
    const bench = await createRunBench({ play: asking, adapter: () => live });
    await bench.start();
    await say(bench, steer);
    const executed = bench.execute();
    await eventually(async () => (await typesOf(bench)).includes('RunAsked'));
    const run = bench.process();
    await eventually(() => run.inputs.some(({ key }) => key === 'steer msg-2'));
    print(run, event({ type: 'delivered', messageId: 'msg-2' }), DONE);
    await executed;
    const delivered = (await bench.events()).filter(({ type }) => type === 'RunMessageDelivered');
    expect(delivered.map(({ data }) => data['message_id'])).toEqual(['msg-00000001', 'msg-2']);
  });

  it('goes to the process that the turn is handed off to, and to no other [R3] [M4]', async () => {
    const play = (run: FakeRun): void => {
      const isHandedOff = run.id.endsWith('-handoff');
      print(run, { type: 'session', id: isHandedOff ? sessionOf(run) : 'another' });
      run.onInput(({ key }) => {
        if (key === 'steer msg-2')
          print(run, event({ type: 'delivered', messageId: 'msg-2' }), DONE);
        if (key === 'eof') run.exit();
      });
    };
    const bench = await createRunBench({ play, adapter: () => live });
    const { sandbox_id, instance } = bench.request.place;
    const transcript = `/home/agent/.fake-harness/sessions/${CONVERSATION}.jsonl`;
    const whole = Buffer.from(`${JSON.stringify({ type: 'session', id: CONVERSATION })}\n`);
    await bench.driver.files.put({ id: sandbox_id, instance }, transcript, whole);
    await bench.start({ resume: true, harness_session: CONVERSATION, handoff: 'so far' });
    await say(bench, steer);
    await bench.execute();
    const keys = (suffix: string) => bench.process(suffix).inputs.map(({ key }) => key);
    expect(keys('')).not.toContain('steer msg-2');
    expect(keys('-handoff')).toContain('steer msg-2');
    expect(await typesOf(bench)).toContain('RunMessageDelivered');
  });

  it('that came back is not offered again when the output is read again: it could be got twice [M4] [M6]', async () => {
    const bench = await createRunBench({ play: asking, adapter: () => live });
    await bench.start();
    await say(bench, steer);
    await say(bench, { type: 'WithdrawMessage', data: { message_id: 'msg-2' } });
    await say(bench, { type: 'MarkReturned', data: { message_id: 'msg-2' } });
    await say(bench, { type: 'SteerRun', data: { message_id: 'msg-3', text: 'and this' } });
    const executed = bench.execute();
    await eventually(async () => (await typesOf(bench)).includes('RunAsked'));
    const run = bench.process();
    await eventually(() => run.inputs.some(({ key }) => key === 'steer msg-3'));
    expect(run.inputs.map(({ key }) => key)).not.toContain('steer msg-2');
    print(run, DONE);
    await executed;
    expect(await typesOf(bench)).toContain('RunFinished');
  });
});
