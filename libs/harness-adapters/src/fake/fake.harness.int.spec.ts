import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { access, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ask } from '../harness-adapter.ts';
import { HarnessHome } from '../testing/harness-home.ts';
import { HarnessProcess } from '../testing/harness-process.ts';
import { fakeAdapter } from './fake.adapter.ts';

let home: HarnessHome;
beforeEach(async () => {
  home = await HarnessHome.create(tmpdir());
});
afterEach(() => home.remove());

const start = (prompt: string): Promise<HarnessProcess> =>
  HarnessProcess.start(fakeAdapter, home.turn({ prompt, conversationId: 'c' }));

describe('fake harness', () => {
  it('crashes when it is told to', async () => {
    const turn = await (await start('[[ say: hm ;; crash ]]')).finished;
    expect(turn.exit.signal).toBe('SIGKILL');
    expect(turn.result).toMatchObject({
      outcome: 'failed',
      summary: 'hm',
      error: { kind: 'process' },
    });
  });

  it('hangs until it is interrupted', async () => {
    const process = await start('[[ say: hm ;; hang ;; say: never ]]');
    await process.until((event) => event.type === 'message');
    process.interrupt();
    expect((await process.finished).result).toMatchObject({ outcome: 'cancelled', summary: 'hm' });
  });

  it('waits for a file, so that a test decides when it goes on', async () => {
    const process = await start('[[ say: hm ;; until: go.txt ;; say: on ]]');
    await process.until((event) => event.type === 'message');
    expect(process.events.filter((event) => event.type === 'ended')).toEqual([]);
    await writeFile(join(home.cwd, 'go.txt'), '');
    expect((await process.finished).result).toMatchObject({ outcome: 'succeeded', summary: 'on' });
  });

  it('says what is wrong with a script', async () => {
    const turn = await (await start('[[ dance ]]')).finished;
    const error = { kind: 'invalid_request', message: 'unknown action "dance"' };
    expect(turn.result).toMatchObject({ outcome: 'failed', error });
  });

  it('refuses to begin a conversation that is there', async () => {
    await (
      await start('[[ say: one ]]')
    ).finished;
    const turn = await (await start('[[ say: two ]]')).finished;
    expect(turn.result.error).toMatchObject({ kind: 'process' });
    expect(turn.result.error?.message).toContain('already in use');
  });
});

describe('fake harness at work', () => {
  const asked = async (process: HarnessProcess, text?: string): Promise<Ask> => {
    const event = await process.until(
      ({ type, ...rest }) => type === 'asked' && JSON.stringify(rest).includes(text ?? ''),
    );
    if (event.type !== 'asked') throw new Error(event.type);
    return event.ask;
  };

  it("does a steered message's script before the rest, and quotes one without", async () => {
    const process = await start('[[ ask: Go? ;; say: the rest ;; echo ]]');
    const ask = await asked(process);
    process.steer('m2', 'first [[ say: mine ]]');
    process.steer('m3', 'just words');
    process.answer(ask.id, { answers: { q1: 'go' } });
    const turn = await process.finished;
    const said = turn.events.flatMap((event) => (event.type === 'message' ? event.text : []));
    const rest = ['mine', 'I was told "just words".', 'the rest'];
    expect(said.slice(0, -1)).toEqual(['answered: go', ...rest]);
    const live = 'At work I was allowed "go", told "first [[ say: mine ]]", told "just words".';
    expect(turn.result.summary).toContain(live);
  });

  it('says the answer back, and in the report what was refused', async () => {
    const process = await start('[[ ask: Which? | A | B ;; ask: Why? ;; echo ]]');
    const which = await asked(process);
    process.answer(which.id, { answers: { q1: 'B' } });
    const why = await asked(process, 'Why?');
    process.answer(why.id, { verdict: 'deny', reason: 'no time' });
    const turn = await process.finished;
    const said = turn.events.flatMap((event) => (event.type === 'message' ? event.text : []));
    expect(said).toEqual(expect.arrayContaining(['answered: B', 'not answered: no time']));
    expect(turn.result.summary).toContain('At work I was allowed "B", denied "no time".');
  });

  it('asks again with the same id when a message resumes what was deferred [A3]', async () => {
    const turn = { prompt: '[[ run: touch one.txt ;; say: rest ]]', conversationId: 'c' };
    const first = await HarnessProcess.start(fakeAdapter, home.turn({ ...turn, asksLeave: true }));
    const ask = await asked(first);
    first.defer();
    expect((await first.finished).result.outcome).toBe('deferred');
    const next = { prompt: 'hello?', conversationId: 'c', resume: true };
    const second = await HarnessProcess.start(fakeAdapter, home.turn(next));
    expect(await asked(second)).toEqual(ask);
    second.answer(ask.id, {});
    expect((await second.finished).result.summary).toBe('rest');
    await access(join(home.cwd, 'one.txt'));
  });

  it('defers what it asks later when it was told before [A2]', async () => {
    const process = await start('[[ until: go.txt ;; ask: Which? ]]');
    process.defer();
    await writeFile(join(home.cwd, 'go.txt'), '');
    expect((await process.finished).result.outcome).toBe('deferred');
  });

  it('tells an answer in words where nothing is asked any more', async () => {
    const questions = [{ id: 'q1', text: 'Which?', choices: [], isMultiple: false }];
    const ask: Ask = { id: 'gone', kind: 'question', questions };
    const answer = { verdict: 'allow' as const, answers: { q1: 'B' }, reason: '' };
    const turn = home.turn({ prompt: '', conversationId: 'c', answered: { ask, answer } });
    const process = await HarnessProcess.start(fakeAdapter, turn);
    const { result } = await process.finished;
    expect(result.summary).toContain('Your question «Which?» was answered: B. Continue.');
  });
});
