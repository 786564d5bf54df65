/** Conversations: resumed in a fresh HOME, lost, damaged and mended, cut off by a kill. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import type { ConversationCheck } from '../harness-adapter.ts';
import { diskConversationFiles } from './disk-conversation-files.ts';
import {
  ENDLESS,
  OPENINGS,
  conversationId,
  expectSent,
  firstSaid,
  isGone,
  pidOf,
  type HarnessBench,
} from './harness-bench.ts';
import type { HarnessHome } from './harness-home.ts';
import type { FinishedTurn } from './harness-process.ts';

const TURNS_MILLISECONDS_MAX = 120_000;

export function describeConversations(bench: () => HarnessBench, repairs: boolean): void {
  const check = (id: string, home = bench().home): Promise<ConversationCheck> => {
    const { setting } = bench();
    const where = { home: home.home, cwd: home.cwd, conversationId: id };
    return setting.adapter.check(diskConversationFiles, where);
  };
  const resumed = (home: HarnessHome, id: string, prompt: string) => {
    const { spec, run } = bench();
    return run(spec({ prompt, conversationId: id, resume: true }, home));
  };

  it(
    'resumes in a fresh HOME that holds only the conversation directories',
    async () => {
      const { setting, home, spec, run } = bench();
      const opening = `${OPENINGS.option} [[ say: heard ]]`;
      const first = await run(spec({ prompt: opening }));
      expectSent(setting, opening);
      const id = conversationId(first);
      const before = await check(id);
      expect(before).toMatchObject({ state: 'intact' });
      const fresh = await home.moved(setting.adapter, 'home-2');
      const second = await resumed(fresh, id, 'and now? [[ echo ]]');
      expect(conversationId(second)).toBe(id);
      expect(second.result.summary).toContain(firstSaid(opening));
      expect(second.result.summary).toContain('2 user and 1 assistant messages');
      const sent = setting.scripted?.newestUserTexts()[0] ?? second.result.summary;
      expect(sent).toContain(opening.slice(0, 40));
      expect(second.result.usage).toEqual(first.result.usage);
      const after = await check(id, fresh);
      expect(after).toMatchObject({ state: 'intact' });
      if (before.state !== 'intact' || after.state !== 'intact') throw new Error('not intact');
      expect(after.entries).toBeGreaterThan(before.entries);
      expect(after.lastEntry).not.toBe(before.lastEntry);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'finds the conversation of an oddly named directory',
    async () => {
      const { setting, home, spec, run } = bench();
      const cwd = join(home.cwd, 'a.b_c é日😀 (1)');
      await mkdir(cwd);
      const opening = `${OPENINGS.lines} [[ say: one ]]`;
      const first = await run(spec({ prompt: opening, cwd }));
      expectSent(setting, opening);
      const id = conversationId(first);
      const where = { home: home.home, cwd, conversationId: id };
      const found = await setting.adapter.check(diskConversationFiles, where);
      expect(found).toMatchObject({ state: 'intact' });
      const next = { prompt: 'next [[ echo ]]', cwd, conversationId: id, resume: true };
      const second = await run(spec(next));
      expect(second.result.summary).toContain(firstSaid(opening));
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'refuses to resume what is not there instead of starting over',
    async () => {
      const { home } = bench();
      const id = '01234567-89ab-4cde-8f01-23456789abcd';
      expect(await check(id)).toMatchObject({ state: 'missing' });
      const turn = await resumed(home, id, 'hello?');
      expect(turn.result).toMatchObject({
        outcome: 'failed',
        summary: '',
        error: { kind: 'conversation_lost' },
      });
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'goes on natively after it was killed in a tool call',
    async () => {
      const { setting, home, spec, start } = bench();
      const opening = `${OPENINGS.path} [[ say: hm ++ ${ENDLESS} ]]`;
      const process = await start(spec({ prompt: opening }));
      const pid = await pidOf(home);
      expectSent(setting, opening);
      process.kill('SIGKILL');
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'process' } });
      // The tool is in a session of its own and outlives its harness: the sandbox ends it.
      await killGroup(pid);
      expect(await isGone(pid)).toBe(true);
      const id = conversationId(turn);
      await mended(await check(id));
      const next = await resumed(home, id, 'what now? [[ echo ]]');
      expect(next.result.outcome).toBe('succeeded');
      expect(next.result.summary).toContain(firstSaid(opening));
    },
    TURNS_MILLISECONDS_MAX,
  );

  if (repairs) describeRepairs(bench, check, resumed);
  else
    it(
      'is told that a conversation that was cut is lost',
      async () => {
        const { setting, spec, run } = bench();
        const opening = `${OPENINGS.file} [[ say: one ]]`;
        const first = await run(spec({ prompt: opening }));
        expectSent(setting, opening);
        const id = conversationId(first);
        const before = await check(id);
        if (before.state !== 'intact') throw new Error(JSON.stringify(before));
        const bytes = (await diskConversationFiles.read(before.path)) ?? new Uint8Array();
        for (const cut of [bytes.subarray(0, -12), bytes.subarray(0, 12), new Uint8Array()]) {
          await diskConversationFiles.write(before.path, cut);
          expect(await check(id)).toMatchObject({ state: 'missing' });
        }
      },
      TURNS_MILLISECONDS_MAX,
    );
}

type Check = (id: string) => Promise<ConversationCheck>;
type Resumed = (home: HarnessHome, id: string, prompt: string) => Promise<FinishedTurn>;

function describeRepairs(bench: () => HarnessBench, check: Check, resumed: Resumed): void {
  it(
    'goes on natively from a repaired conversation, wherever it was damaged',
    async () => {
      const { setting, home, spec, run } = bench();
      const opening = `${OPENINGS.file} [[ run: echo hi ;; say: one ]]`;
      const first = await run(spec({ prompt: opening }));
      expectSent(setting, opening);
      const id = conversationId(first);
      const second = await resumed(home, id, 'second words [[ say: two ]]');
      expect(second.result.outcome).toBe('succeeded');
      const before = await check(id);
      if (before.state !== 'intact') throw new Error(JSON.stringify(before));
      const bytes = (await diskConversationFiles.read(before.path)) ?? new Uint8Array();
      const text = new TextDecoder().decode(bytes);
      // A line in the middle, and the end of the last line.
      for (const broken of [withBrokenLine(text), text.slice(0, -12)]) {
        await diskConversationFiles.write(before.path, new TextEncoder().encode(broken));
        const damaged = await check(id);
        expect(damaged).toMatchObject({ state: 'damaged', lost: expect.stringMatching(/line/) });
        await mended(damaged);
        expect(await check(id)).toMatchObject({ state: 'intact' });
        const third = await resumed(home, id, 'third words [[ echo ]]');
        expect(third.result.outcome).toBe('succeeded');
        expect(third.result.summary).toContain(firstSaid(opening));
        expect(conversationId(third)).toBe(id);
      }
    },
    2 * TURNS_MILLISECONDS_MAX,
  );
}

async function mended(check: ConversationCheck): Promise<void> {
  if (check.state === 'missing') throw new Error(check.reason);
  if (check.state === 'damaged') await diskConversationFiles.write(check.path, check.repaired);
}

/** Breaks the line that holds the first answer's text: below it hangs the rest of the chain. */
function withBrokenLine(text: string): string {
  const lines = text.split('\n');
  const index = lines.findLastIndex((line) => line.includes('"one"'));
  lines[index] = `${lines[index]?.slice(0, 25)}\u0000\u0000`;
  return lines.join('\n');
}

/** Gemini CLI's shell has a child that would go on alone, for ever. */
async function killGroup(pid: number): Promise<void> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  process.kill(-Number(group), 'SIGKILL');
}
