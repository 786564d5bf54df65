/**
 * What every harness must do, against the real program (or the fake one): its turns are driven
 * as child processes in a HOME of their own, with a scripted model where there is one.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HarnessName, TurnErrorKind, TurnProtocol, TurnSpec } from '../harness-adapter.ts';
import { harnessAdapter } from '../registry.ts';
import {
  CONVERSATION,
  ENDLESS,
  KEY,
  OPENINGS,
  conversationId,
  expectSent,
  firstSaid,
  isGone,
  pidOf,
  type HarnessBench,
  type HarnessSetting,
} from './harness-bench.ts';
import { HarnessHome } from './harness-home.ts';
import { HarnessProcess, type FinishedTurn } from './harness-process.ts';
import { describeKeys } from './keys.suite.ts';
import { describeConversations } from './conversation.suite.ts';
import { describeLive } from './live.suite.ts';
import { describeTalk } from './talk.suite.ts';
import { describePrompts } from './prompt.suite.ts';

/** One turn of a real harness with a scripted model takes 1 to 3 s; retries up to 20 s. */
const TURN_MILLISECONDS_MAX = 90_000;
/** Ids that harnesses choose. */
const ID = /^(?:[0-9a-f-]{36}|ses_\w{26})$/;
/** Nothing listens there. */
const DEAD_URL = 'http://127.0.0.1:9';

export function describeHarnessAdapter(
  name: HarnessName,
  factory: () => Promise<HarnessSetting>,
  /**
   * `model` false for the fake harness: nothing can be cut or out of reach. `keys`: `once` where the
   * CLI cannot ask for another key while it works. `repairs` false where a conversation that was
   * damaged cannot be mended.
   */
  has: { model: boolean; keys?: 'once'; repairs?: false } = { model: true },
): void {
  describe(`harness ${name}`, () => {
    let setting: HarnessSetting;
    let home: HarnessHome;
    let turns = 0;
    const running = new Set<HarnessProcess>();

    beforeAll(async () => {
      setting = await factory();
    }, 11 * 60_000);
    beforeEach(async () => {
      home = await HarnessHome.create(setting.homesDirectory);
    });
    afterEach(async () => {
      for (const process of running) process.kill('SIGKILL');
      running.clear();
      await home.remove();
    });
    afterAll(() => running.clear());

    const start = async (turn: TurnSpec): Promise<HarnessProcess> => {
      const process = await HarnessProcess.start(setting.adapter, turn);
      running.add(process);
      void process.finished.finally(() => running.delete(process)).catch(() => undefined);
      return process;
    };
    const bench = (): HarnessBench => ({
      setting,
      home,
      // A message is a new one in each turn: Claude Code drops one it has had, without a word.
      spec: (fields, where = home) =>
        where.turn({
          runId: `run-00000001-${(turns += 1)}`,
          messageId: `msg-${String(turns).padStart(8, '0')}`,
          harnessRoot: setting.harnessRoot,
          model: setting.model,
          conversationId: setting.adapter.capabilities.choosesId ? CONVERSATION : null,
          envVars: {
            HANGAR_MODEL_RETRIES: '1',
            ...setting.envVars(setting.scripted?.url ?? '', KEY),
          },
          ...fields,
        }),
      start,
      run: async (turn) => (await start(turn)).finished,
    });

    describeTurns(bench);
    describeErrors(bench);
    if (has.model) describeConnection(bench);
    if (has.model) describeKeys(bench, has.keys ?? 'refreshed');
    describeConversations(bench, has.repairs ?? true);
    describePrompts(bench);
    describeLive(bench, harnessAdapter(name).capabilities);
    if (harnessAdapter(name).capabilities.talk) describeTalk(bench);
  });
}

function describeTurns(bench: () => HarnessBench): void {
  it(
    'runs a first turn: tools, files, summary, usage; asks nothing, and leaves by itself',
    async () => {
      const { setting, home, spec, run } = bench();
      const script = '[[ say: hm ++ run: echo hi; exit 3 ;; write: a.txt=hello ;; say: all done ]]';
      const asked = spec({ prompt: `${OPENINGS.unknownCommand} ${script}` });
      const turn = await run(asked);
      expectSent(setting, asked.prompt);
      expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'all done' });
      expect(turn.result.error).toBeUndefined();
      expect(turn.exit).toEqual({ code: 0, signal: null });
      const conversation = turn.events.find((event) => event.type === 'conversation');
      const isChosen = setting.adapter.capabilities.choosesId;
      expect(conversation?.id).toMatch(isChosen ? CONVERSATION : ID);
      const delivered = turn.events.filter((event) => event.type === 'delivered');
      expect(delivered).toEqual([{ type: 'delivered', messageId: asked.messageId }]);
      expect(turn.events.filter((event) => event.type === 'asked')).toEqual([]);
      const finished = turn.events.filter((event) => event.type === 'tool_finished');
      expect(finished[0]).toMatchObject({ isError: true, exitCode: 3 });
      expect(finished[0]?.output).toContain('hi');
      const started = turn.events.filter((event) => event.type === 'tool_started');
      expect(started.map(({ id }) => id)).toEqual(finished.map(({ id }) => id));
      const changed = turn.events.filter((event) => event.type === 'file_changed');
      expect(changed.map(({ path }) => path.endsWith('a.txt'))).toEqual([true]);
      expect((await readFile(join(home.cwd, 'a.txt'), 'utf8')).trim()).toBe('hello');
      const deltas = turn.events.flatMap((event) =>
        event.type === 'text_delta' ? event.text : [],
      );
      expect(deltas.join('')).toContain('all done');
      expect(turn.result.usage.output_tokens).toBe(150);
      expect(turn.result.usage.cached_tokens).toBe(600);
      const isPriced = (turn.result.usage.cost_usd ?? 0) > 0;
      expect(isPriced).toBe(setting.adapter.capabilities.cost);
      const ended = turn.events.filter((event) => event.type === 'ended');
      expect(ended).toHaveLength(1);
      expect(await home.filesWith(KEY)).toEqual([]);
      expectTheSameAgain(setting.adapter.protocol(asked), turn);
    },
    TURN_MILLISECONDS_MAX,
  );

  it(
    'interrupts a running tool: cancelled, the command is dead, the conversation goes on',
    async () => {
      const { setting, home, spec, start, run } = bench();
      const opening = `${OPENINGS.command} [[ ${ENDLESS} ;; say: no ]]`;
      const process = await start(spec({ prompt: opening }));
      const pid = await pidOf(home);
      expectSent(setting, opening);
      process.interrupt();
      const turn = await process.finished;
      expect(turn.result.outcome).toBe('cancelled');
      expect(turn.result.summary).not.toBe('no');
      expect(await isGone(pid)).toBe(true);
      const id = conversationId(turn);
      const next = await run(
        spec({ prompt: 'go on [[ echo ]]', conversationId: id, resume: true }),
      );
      expect(next.result.outcome).toBe('succeeded');
      expect(next.result.summary).toContain(firstSaid(opening));
      expect(setting.adapter.terminalHint(id)).toContain(id);
    },
    TURN_MILLISECONDS_MAX,
  );
}

/** Its output, read again by a service that came back: the same events, results and keys, once. */
function expectTheSameAgain(again: TurnProtocol, original: FinishedTurn): void {
  const read = (): { events: unknown[]; keys: string[] } => {
    const steps = original.stdout.map((line) => again.line(line));
    return {
      events: steps.flatMap(({ events }) => events),
      keys: steps.flatMap(({ inputs }) => inputs.map(({ key }) => key)),
    };
  };
  const opened = again.open().map(({ key }) => key);
  const first = read();
  expect(first.events).toEqual(original.events);
  expect([...opened, ...first.keys, 'eof']).toEqual(original.keys);
  expect(read()).toEqual({ events: [], keys: [] });
  expect(again.exited(original.exit, '')).toEqual(original.result);
}

function describeErrors(bench: () => HarnessBench): void {
  const errors: [string, TurnErrorKind][] = [
    ['error: 401', 'authentication'],
    ['error: 400', 'invalid_request'],
    ['error: 429', 'usage_limit'],
    ['error: 500', 'overloaded'],
    ['error: 529', 'overloaded'],
  ];
  // Each turn is the next one of a conversation whose turns before it failed.
  describe('one after the other in a conversation', () => {
    let home: HarnessHome;
    let id: string | null = null;
    beforeAll(async () => {
      home = await HarnessHome.create(bench().setting.homesDirectory);
    });
    afterAll(() => home.remove());
    const next = async (prompt: string): Promise<FinishedTurn> => {
      const { spec, run } = bench();
      const known = id === null ? {} : { conversationId: id, resume: true };
      const turn = await run(spec({ prompt, ...known }, home));
      id = conversationId(turn);
      return turn;
    };

    it.each(errors)(
      '%s fails the turn as %s, never as a summary',
      async (script, kind) => {
        const turn = await next(`words [[ ${script} ]]`);
        expect(turn.result).toMatchObject({ outcome: 'failed', summary: '', error: { kind } });
        expect(turn.result.error?.message).not.toBe('');
      },
      TURN_MILLISECONDS_MAX,
    );

    it(
      'tries an overloaded provider again and says so, and the turn after the errors works',
      async () => {
        const turn = await next('x [[ error: 529x1 ;; say: after all ]]');
        const isSaid = turn.events.some((event) => event.type === 'retrying');
        expect(isSaid).toBe(bench().setting.saysRetries ?? true);
        expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'after all' });
      },
      TURN_MILLISECONDS_MAX,
    );
  });

  it(
    'passes on when a usage limit ends',
    async () => {
      const { setting, spec, run } = bench();
      // On a full minute: Codex says only hours and minutes.
      const resets = Math.ceil(Date.now() / 60_000) * 60 + 3_600;
      const own = setting.limitEnvVars?.(setting.scripted?.url ?? '', KEY);
      const turn = await run(
        spec({ prompt: `x [[ error: 429 resets=${resets} ]]`, ...(own ? { envVars: own } : {}) }),
      );
      expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'usage_limit' } });
      const expected = setting.saysResetTime ? new Date(resets * 1000).toISOString() : undefined;
      expect(turn.result.error?.resetsAt).toBe(expected);
    },
    TURN_MILLISECONDS_MAX,
  );
}

function describeConnection(bench: () => HarnessBench): void {
  it(
    'fails as authentication without any credential',
    async () => {
      const { spec, run } = bench();
      const turn = await run(spec({ prompt: 'x', envVars: {} }));
      expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'authentication' } });
    },
    TURN_MILLISECONDS_MAX,
  );

  it(
    'fails on a reply that is always cut, and does not take its half for a summary',
    async () => {
      const { spec, run } = bench();
      const turn = await run(spec({ prompt: 'x [[ cut: half a sent ]]' }));
      expect(turn.result).toMatchObject({ outcome: 'failed', summary: '' });
      expect(turn.result.error?.kind).toBe('connection');
    },
    TURN_MILLISECONDS_MAX,
  );

  it(
    'fails within its retries when the provider cannot be reached',
    async () => {
      const { setting, spec, run } = bench();
      const envVars = { HANGAR_MODEL_RETRIES: '1', ...setting.envVars(DEAD_URL, KEY) };
      const turn = await run(spec({ prompt: 'x', envVars }));
      expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'connection' } });
    },
    TURN_MILLISECONDS_MAX,
  );
}
