/** What is Claude Code's own in live work: asking again, calls beside others, plans, subagents. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startModelServer } from '../../../../tools/model-server/model-server.ts';
import type { Answer, Ask, HarnessEvent, TurnSpec } from '../harness-adapter.ts';
import { CONVERSATION, KEY, type HarnessSetting } from '../testing/harness-bench.ts';
import { HarnessHome } from '../testing/harness-home.ts';
import { HarnessProcess, type FinishedTurn } from '../testing/harness-process.ts';
import { TURNS_MILLISECONDS_MAX, all, answers, asked, isThere } from '../testing/live-bench.ts';
import { realHarness } from '../testing/real-harness.ts';
import { claudeCodeAdapter } from './claude-code.adapter.ts';

const server = await startModelServer();
let setting: HarnessSetting;
let home: HarnessHome;
let turns = 0;
let running: HarnessProcess | null = null;

beforeAll(async () => {
  setting = await realHarness(claudeCodeAdapter, server, {
    model: 'claude-sonnet-4-5',
    envVars: (url, key) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
    saysResetTime: true,
  });
}, 11 * 60_000);
afterAll(() => server.close());
beforeEach(async () => {
  turns = 0;
  server.reset();
  home = await HarnessHome.create(setting.homesDirectory);
});
afterEach(async () => {
  running?.kill('SIGKILL');
  await home.remove();
});

async function start(fields: Partial<TurnSpec>, where = home): Promise<HarnessProcess> {
  turns += 1;
  const { harnessRoot, model, adapter } = setting;
  const known = { harnessRoot, model, conversationId: CONVERSATION, resume: turns > 1 };
  const own = { runId: `run-00000001-${turns}`, messageId: `msg-0000000${turns}` };
  const envVars = setting.envVars(server.url, KEY);
  const turn = where.turn({ prompt: '', ...known, ...own, envVars, ...fields });
  running = await HarnessProcess.start(adapter, turn);
  return running;
}

const allowed = (ask: Ask, text: string): Answer => ({
  verdict: 'allow',
  reason: '',
  ...answers(ask, text),
});
const settled = (events: HarnessEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'delivered' || event.type === 'returned'
      ? [`${event.type} ${event.messageId}`]
      : [],
  );
const toolResults = (): string[] => server.requests().at(-1)?.toolResults ?? [];
const userTexts = (): string[] => server.requests().at(-1)?.userTexts ?? [];

async function deferred(fields: Partial<TurnSpec>): Promise<{ ask: Ask; turn: FinishedTurn }> {
  const process = await start(fields);
  const ask = await asked(process);
  process.defer();
  const turn = await process.finished;
  expect(turn.result.outcome).toBe('deferred');
  return { ask, turn };
}

describe('Claude Code live', () => {
  it(
    'asks again with the same id when a message resumes it; the message comes after [A3]',
    async () => {
      const { ask } = await deferred({ prompt: '[[ ask: Which one? | Red | Blue ;; say: done ]]' });
      const fresh = await home.moved(claudeCodeAdapter, 'home-2');
      const process = await start({ prompt: 'and hurry [[ say: hurried ]]' }, fresh);
      expect(await asked(process)).toEqual(ask);
      process.answer(ask.id, answers(ask, 'Blue'));
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'hurried' });
      expect(settled(turn.events)).toEqual(['delivered msg-00000002']);
      expect(toolResults().at(-1)).toContain('Blue');
      const said = turn.events.flatMap((event) => (event.type === 'message' ? event.text : []));
      expect(said).toEqual(['done', 'hurried']);
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'defers again what it asked again, and gives the message back that waits behind it [A2]',
    async () => {
      const { ask } = await deferred({ prompt: '[[ ask: Which one? | Red | Blue ;; say: done ]]' });
      const again = await deferred({ prompt: 'and hurry' });
      expect(again.ask).toEqual(ask);
      expect(settled(again.turn.events)).toEqual(['returned msg-00000002']);
      const last = await start({ answered: { ask, answer: allowed(ask, 'Blue') } });
      const turn = await last.finished;
      expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'done' });
      expect(settled(turn.events)).toEqual(['delivered msg-00000003']);
      expect(toolResults().at(-1)).toContain('Blue');
      expect(userTexts().join('\n')).not.toContain('and hurry');
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'is interrupted where an ask is not alone in its reply, and told the answer in words [A2]',
    async () => {
      const script = '[[ run: touch one.txt ++ ask: Which one? | Red | Blue ;; say: done ]]';
      const { ask, turn } = await deferred({ prompt: script, asksLeave: true });
      expect(turn.keys).toContain('interrupt');
      expect(ask.tool?.name).toBe('Bash');
      expect(await isThere(home, 'one.txt')).toBe(false);
      const last = await start({ asksLeave: true, answered: { ask, answer: allowed(ask, '') } });
      const next = await last.finished;
      expect(next.result.outcome).toBe('succeeded');
      expect(settled(next.events)).toEqual(['delivered msg-00000002']);
      expect(userTexts().at(-1)).toBe('You may «Bash: touch one.txt»: allowed. Continue.');
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    'asks leave for a plan, and hears why not',
    async () => {
      const file = `$(grep -oh 'plans/[a-z-]*.md' ~/.claude/projects/*/*.jsonl | tail -1)`;
      const write = `run: mkdir -p ~/.claude/plans; echo "first this" > ~/.claude/${file}`;
      const prompt = `[[ call: EnterPlanMode {} ;; ${write} ;; call: ExitPlanMode {} ;; say: done ]]`;
      const process = await start({ prompt });
      const ask = await asked(process);
      expect(ask).toMatchObject({ kind: 'decision', tool: { name: 'ExitPlanMode' } });
      expect(ask.questions[0]?.text).toContain('first this');
      process.answer(ask.id, { verdict: 'deny', reason: 'that comes second' });
      const turn = await process.finished;
      expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'done' });
      expect(all(turn.events, 'ask_closed')).toEqual([{ type: 'ask_closed', id: ask.id }]);
      expect(toolResults().at(-1)).toContain('that comes second');
    },
    TURNS_MILLISECONDS_MAX,
  );

  it(
    "asks leave for a subagent's calls, too [A3]",
    async () => {
      const agent = { description: 'd', prompt: 'sub go', subagent_type: 'general-purpose' };
      const script = `call: Agent ${JSON.stringify(agent)} ;; say: waiting ;; say: done`;
      const process = await start({ prompt: `[[ ${script} ]]`, asksLeave: true });
      const parent = await asked(process);
      expect(parent.tool?.name).toBe('Agent');
      server.hold(true);
      process.answer(parent.id, {});
      await server.waitFor(({ userTexts: texts }) => texts.at(-1) === 'sub go');
      server.queue('run: touch sub.txt');
      server.hold(false);
      const inner = await asked(process, 2);
      expect(inner.questions[0]?.text).toBe('Bash: touch sub.txt');
      process.answer(inner.id, { verdict: 'deny', reason: 'not below' });
      const turn = await process.finished;
      expect(turn.result.outcome).toBe('succeeded');
      expect(await isThere(home, 'sub.txt')).toBe(false);
    },
    TURNS_MILLISECONDS_MAX,
  );
});
