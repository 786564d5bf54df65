/** What an agent asks of a person: questions and leave for tool calls [A1] to [A4]. */
import { expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { diskConversationFiles } from './disk-conversation-files.ts';
import { conversationId, newestUserTexts, sentTexts, type HarnessBench } from './harness-bench.ts';
import type { HarnessHome } from './harness-home.ts';
import type { FinishedTurn } from './harness-process.ts';
import { TURNS_MILLISECONDS_MAX, all, answers, asked, isThere, settled } from './live-bench.ts';

export function describeQuestions(bench: () => HarnessBench): void {
  const QUESTION = 'ask: Which one? | Red | Blue';
  const SCRIPT = `[[ ${QUESTION} ;; say: done ]]`;

  it(
    'takes a choice, a free text, or why there is none as the answer to its question [A1]',
    async () => {
      const { spec, start } = bench();
      const replies = ['Blue', 'neither, take green-1', null];
      const reason = 'nobody is at home-1';
      const script = [...replies.map(() => QUESTION), 'say: done'].join(' ;; ');
      const process = await start(spec({ prompt: `[[ ${script} ]]` }));
      const ids: string[] = [];
      for (const reply of replies) {
        const ask = await asked(process, ids.length + 1);
        expect(ask).toMatchObject({ kind: 'question', questions: [{ text: 'Which one?' }] });
        expect(ask.tool).toBeUndefined();
        expect(ask.questions[0]?.choices.map(({ label }) => label)).toEqual(['Red', 'Blue']);
        process.answer(ask.id, reply === null ? { verdict: 'deny', reason } : answers(ask, reply));
        process.answer(ask.id, answers(ask, 'too late'));
        ids.push(ask.id);
      }
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'done' });
      expect(new Set(ids).size).toBe(replies.length);
      expect(all(turn.events, 'asked')).toHaveLength(replies.length);
      expect(all(turn.events, 'ask_closed').map(({ id }) => id)).toEqual(ids);
      const texts = await sentTexts(bench());
      for (const text of replies.map((reply) => reply ?? reason))
        expect(texts.filter((each) => each.includes(text))).not.toEqual([]);
      expect(texts.filter((each) => each.includes('too late'))).toEqual([]);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'defers a question; the answer reaches the agent in a fresh HOME with the conversation [A2]',
    async () => {
      const { spec, start } = bench();
      const process = await start(spec({ prompt: SCRIPT }));
      const ask = await asked(process);
      process.defer();
      // Too late: whoever resumes it brings the answer.
      process.answer(ask.id, answers(ask, 'too late-2'));
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'deferred' });
      expect(all(turn.events, 'ask_closed')).toEqual([{ type: 'ask_closed', id: ask.id }]);
      const answer = { verdict: 'allow' as const, reason: '', ...answers(ask, 'take green-2') };
      const next = await resumedElsewhere(bench(), turn, { answered: { ask, answer } });
      expect(next.result).toMatchObject({ outcome: 'succeeded', summary: 'done' });
      const texts = await sentTexts({ ...bench(), home: next.home });
      expect(texts.filter((each) => each.includes('take green-2'))).not.toEqual([]);
      expect(texts.filter((each) => each.includes('too late-2'))).toEqual([]);
    },
    TURNS_MILLISECONDS_MAX,
  );
}

/** Goes on in a HOME that holds only the conversation; the message is delivered, nothing asked. */
async function resumedElsewhere(
  bench: HarnessBench,
  turn: FinishedTurn,
  fields: Pick<Parameters<HarnessBench['spec']>[0], 'answered' | 'asksLeave'>,
  name = 'home-2',
): Promise<FinishedTurn & { home: HarnessHome }> {
  const { setting, spec, run } = bench;
  const id = conversationId(turn);
  const home = await bench.home.moved(setting.adapter, name);
  const where = { home: home.home, cwd: home.cwd, conversationId: id };
  const check = await setting.adapter.check(diskConversationFiles, where);
  expect(check).toMatchObject({ state: 'intact' });
  const own = { prompt: '', messageId: 'msg-answered', conversationId: id, resume: true };
  const next = await run(spec({ ...own, ...fields }, home));
  expect(conversationId(next)).toBe(id);
  expect(settled(next.events, 'msg-answered')).toEqual(['delivered']);
  expect(all(next.events, 'asked')).toEqual([]);
  return { ...next, home };
}

export function describeApprovals(bench: () => HarnessBench): void {
  const SCRIPT = '[[ run: echo one > one.txt ;; run: echo two > two.txt ;; say: done ]]';

  it(
    'asks before a tool call: allowed it runs, denied it does not and the agent hears why [A3]',
    async () => {
      const { home, spec, start } = bench();
      const process = await start(spec({ prompt: SCRIPT, asksLeave: true }));
      const first = await asked(process);
      expect(first).toMatchObject({ kind: 'decision', questions: [{ choices: [] }] });
      expect(first.questions[0]?.text).toContain('one.txt');
      expect(JSON.stringify(first.tool?.input)).toContain('echo one > one.txt');
      expect(first.tool?.name).not.toBe('');
      expect(await isThere(home, 'one.txt')).toBe(false);
      process.answer(first.id, {});
      const second = await asked(process, 2);
      expect(second.id).not.toBe(first.id);
      expect(await isThere(home, 'one.txt')).toBe(true);
      process.answer(second.id, { verdict: 'deny', reason: 'two is one too many' });
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'done' });
      expect(await isThere(home, 'two.txt')).toBe(false);
      expect(all(turn.events, 'ask_closed').map(({ id }) => id)).toEqual([first.id, second.id]);
      const texts = await sentTexts(bench());
      expect(texts.filter((each) => each.includes('two is one too many'))).not.toEqual([]);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'closes an open ask when it is interrupted: a late answer allows nothing [A4]',
    async () => {
      const { home, spec, start, run } = bench();
      const process = await start(spec({ prompt: SCRIPT, asksLeave: true }));
      const ask = await asked(process);
      process.interrupt();
      await process.until(({ type }) => type === 'ask_closed');
      process.answer(ask.id, {});
      const turn = await process.finished;
      expect(turn.result.outcome).toBe('cancelled');
      expect(all(turn.events, 'ask_closed')).toEqual([{ type: 'ask_closed', id: ask.id }]);
      const next = { prompt: 'next [[ say: ok ]]', conversationId: conversationId(turn) };
      const after = await run(spec({ ...next, resume: true, asksLeave: true }));
      expect(after.result).toMatchObject({ outcome: 'succeeded', summary: 'ok' });
      expect(all(after.events, 'asked')).toEqual([]);
      expect(await isThere(home, 'one.txt')).toBe(false);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'defers a decision; a yes and a no reach the agent in a fresh HOME with the conversation [A2]',
    async () => {
      const { home, spec, start } = bench();
      const process = await start(spec({ prompt: SCRIPT, asksLeave: true }));
      const ask = await asked(process);
      process.defer();
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'deferred' });
      expect(all(turn.events, 'ask_closed')).toEqual([{ type: 'ask_closed', id: ask.id }]);
      expect(await isThere(home, 'one.txt')).toBe(false);
      for (const verdict of ['allow', 'deny'] as const) {
        const answer = { verdict, answers: {}, reason: verdict === 'deny' ? 'not today-1' : '' };
        const fields = { answered: { ask, answer }, asksLeave: false };
        const next = await resumedElsewhere(bench(), turn, fields, `home-${verdict}`);
        expect(next.result.outcome).toBe('succeeded');
        const there = { ...bench(), home: next.home };
        const texts = await sentTexts(there);
        expect(texts.some((each) => each.includes('not today-1'))).toBe(verdict === 'deny');
        // Either the same call goes on, or the agent is told that it may call again.
        const told = await newestUserTexts(there);
        const isTold = told.some((each) => /one\.txt.*allowed/s.test(each));
        expect(isTold || (await isThere(home, 'one.txt'))).toBe(verdict === 'allow');
        await rm(join(home.cwd, 'one.txt'), { force: true });
      }
    },
    2 * TURNS_MILLISECONDS_MAX,
  );
}
