import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activityStream,
  problem,
  startFakeServer,
  stream,
  type Answer,
  type FakeServer,
} from '../../testing/fake-server.ts';
import { runCommand, type Ran, type RunSetting } from '../../testing/run-command.ts';
import {
  activity,
  decision,
  event,
  question,
  questions,
  session,
  turn,
} from '../../testing/sample-documents.ts';
import { chosen } from './ask-person.ts';
import { toolText } from './tool-text.ts';

let server: FakeServer | null = null;
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'hangar-cli-'));
});
afterEach(async () => {
  await server?.close();
  rmSync(cwd, { recursive: true });
});

async function run(
  argv: string[],
  routes: Record<string, Answer>,
  setting: RunSetting = {},
): Promise<Ran> {
  await server?.close();
  server = await startFakeServer(routes);
  return runCommand(argv, { url: server.url, cwd, ...setting });
}
const body = (): unknown => JSON.parse(server?.asked.at(-1)?.body ?? 'null');

describe('session answer', () => {
  const at = (card: string) => `POST /api/sessions/ses-1a2b3c4d/cards/${card}/answer`;
  const waiting = (...attention: (typeof question)[]) => ({
    'GET /api/sessions/s': session({ state: 'ACTIVE', attention }),
    [at(question.id)]: session({ state: 'ACTIVE' }),
    [at(questions.id)]: session({ state: 'ACTIVE' }),
    [at(decision.id)]: session({ state: 'ACTIVE' }),
  });
  const ANSWER = ['session', 'answer', 's'];

  it('asks a person with numbers, and sends the label', async () => {
    const ran = await run(ANSWER, waiting(question), { tty: true, answer: '2' });
    expect(ran.out).toMatch(/Which separator\?\n {4}1 {2}comma {2}as now\n {4}2 {2}tab\n/);
    expect(ran.questions).toEqual(['Answer (a number or your own words): ']);
    expect(body()).toEqual({ answers: { q1: 'tab' } });
  });

  it('asks one question after the other', async () => {
    const setting = { tty: true, answer: ['3, 1', 'the long one'] };
    await run(ANSWER, waiting(questions), setting);
    expect(body()).toEqual({ answers: { columns: 'date, id', name: 'the long one' } });
  });

  it.each([
    ['1', { verdict: 'allow' }],
    ['allow', { verdict: 'allow' }],
    ['2', { verdict: 'deny', reason: '' }],
    ['alow', { verdict: 'deny', reason: 'alow' }],
  ])('takes %j for a tool call as %j', async (answer, wanted) => {
    const ran = await run(ANSWER, waiting(decision), { tty: true, answer });
    expect(ran.out).toContain('$ git push');
    expect(body()).toEqual(wanted);
  });

  it('sends nothing for an empty line, and prints what waits when several do', async () => {
    const empty = await run(ANSWER, waiting(question), { tty: true, answer: ' ' });
    expect(empty).toMatchObject({ code: 2, err: expect.stringContaining('stays open') });
    const several = await run(ANSWER, waiting(question, decision), { tty: true, answer: '1' });
    expect(several).toMatchObject({ code: 0, questions: [] });
    expect(several.out).toContain(`decide csv-fix ${decision.id}`);
    expect(server?.asked).toHaveLength(1);
    const nothing = await run(ANSWER, waiting(), { tty: true });
    expect(nothing).toMatchObject({ code: 0, err: 'Nothing waits on you in csv-fix.\n' });
  });

  it('reads the answer from stdin for -', async () => {
    await run([...ANSWER, '-'], waiting(question), { stdin: 'comma\n' });
    expect(body()).toEqual({ text: 'comma' });
  });

  it.each([
    [['yes', '--deny'], [question], /more than one answer/],
    [['--reason', 'x'], [question], /--deny/],
    [['--answer', 'q1'], [question], /ID=TEXT/],
    [['yes'], [question, decision], /Name one of: card-000000a1, card-000000b1/],
    [['yes'], [questions], /--answer columns=TEXT --answer name=TEXT/],
    [['yes'], [], /Nothing of the kind waits/],
  ])('refuses %j', async (words, cards, what) => {
    const ran = await run([...ANSWER, ...words], waiting(...cards));
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(what);
    expect(server?.asked).toHaveLength(server?.asked.length ? 1 : 0);
  });

  it('of a card that is gone hears of the server what was decided [A2]', async () => {
    const late = problem(
      409,
      'conflict',
      'this card has its answer: tab',
      'the first answer counts',
    );
    const routes = { ...waiting(), [at(question.id)]: late };
    const ran = await run([...ANSWER, question.id, 'comma'], routes);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/has its answer: tab/);
  });

  it('with --wait does not wait behind another card of the turn', async () => {
    const open = session({
      state: 'ACTIVE',
      attention: [decision],
      turns: [turn(), turn({ number: 2, outcome: null })],
    });
    const routes = { ...waiting(question), [at(question.id)]: open };
    const ran = await run([...ANSWER, question.id, 'comma', '--wait'], routes);
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(/waits on you: Run a command\?/);
  });

  it('takes words for the choices that they are, numbers only where there are such choices', () => {
    const [one] = question.questions;
    const [many] = questions.questions;
    expect(['1', '3', '1, 2', 'tab'].map((typed) => chosen(typed, one!))).toEqual([
      'comma',
      '3',
      '1, 2',
      'tab',
    ]);
    expect(['1 3', '2', '4', 'all'].map((typed) => chosen(typed, many!))).toEqual([
      'id, date',
      'name',
      '4',
      'all',
    ]);
  });
});

describe('session decide', () => {
  const routes = {
    'GET /api/sessions/s': session({ attention: [question, decision] }),
    [`POST /api/sessions/ses-1a2b3c4d/cards/${decision.id}/answer`]: session(),
  };

  it.each([['allow'], [decision.id, 'allow']])('takes %j %j', async (...words) => {
    const ran = await run(['session', 'decide', 's', ...words], routes);
    expect(ran.code).toBe(0);
    expect(body()).toEqual({ verdict: 'allow', reason: '' });
  });

  it.each([
    [[], /no decision/],
    [['maybe'], /no decision/],
    [['allow', 'deny'], /no decision/],
    [[decision.id], /no decision/],
    [['allow', '--reason', 'x'], /goes with deny/],
    [[question.id, 'allow'], /is a question/],
  ])('refuses %j', async (words, what) => {
    const ran = await run(['session', 'decide', 's', ...words], routes);
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(what);
    expect(server?.asked.filter(({ line }) => line.startsWith('POST'))).toEqual([]);
  });
});

describe('session permissions', () => {
  const old = { mode: 'ask', rules: [{ tool: 'A', pattern: '*', verdict: 'deny' }] } as const;
  const routes = {
    'GET /api/sessions/s': session({ permissions: { ...old, rules: [...old.rules] } }),
    'PUT /api/sessions/ses-1a2b3c4d/permissions': session(),
  };

  it.each([
    [['--mode', 'all'], { mode: 'all', rules: old.rules }],
    [['--clear'], { mode: 'ask', rules: [] }],
    [['--allow', 'B'], { mode: 'ask', rules: [{ tool: 'B', pattern: '*', verdict: 'allow' }] }],
  ])('with %j become %j', async (flags, wanted) => {
    await run(['session', 'permissions', 's', ...flags], routes);
    expect(body()).toEqual(wanted);
  });

  it('need a tool in a rule', async () => {
    const ran = await run(['session', 'permissions', 's', '--deny', ' '], routes);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(server?.asked).toEqual([]);
  });

  it('of a new session come from a file, or are those of --ask', async () => {
    const NEW = ['session', 'new', 'n', '--env', 'web', '--harness', 'codex'];
    const made = { 'POST /api/sessions': session() };
    writeFileSync(join(cwd, 'p.json'), JSON.stringify(old));
    await run([...NEW, '--permissions', 'p.json'], made, { tty: true });
    expect(body()).toMatchObject({ permissions: old });
    await run([...NEW, '--ask'], made, { tty: true });
    expect(body()).toMatchObject({ permissions: { mode: 'ask' } });
    writeFileSync(join(cwd, 'p.json'), 'mode: ask');
    for (const flags of [
      ['--permissions', 'p.json'],
      ['--ask', '--permissions', 'p.json'],
    ]) {
      expect((await run([...NEW, ...flags], made, { tty: true })).code).toBe(2);
      expect(server?.asked).toEqual([]);
    }
  });
});

describe('session harness', () => {
  it('changes what is named, and something', async () => {
    const routes = { 'PUT /api/sessions/s/harness': session({ model: 'opus' }) };
    const ran = await run(['session', 'harness', 's', '--model', 'opus'], routes, { tty: true });
    expect(ran.out).toBe(
      'csv-fix (ses-1a2b3c4d) runs claude-code with opus from the next turn on\n',
    );
    expect(body()).toEqual({ model: 'opus' });
    expect((await run(['session', 'harness', 's'], routes)).code).toBe(2);
    expect(server?.asked).toEqual([]);
  });
});

describe('a tool call in a line', () => {
  it.each([
    ['Bash', '{"command":"npm test"}', '$ npm test'],
    ['shell', '{"command":["git","status"]}', '$ git status'],
    ['Read', '{"file_path":"a.ts","limit":3}', 'Read a.ts'],
    ['Search', '{"query":"x"}', 'Search {"query":"x"}'],
    ['Stop', '{}', 'Stop'],
    ['Bash', '{"command":"cut of', 'Bash {"command":"cut of'],
    ['List', `"${'x'.repeat(300)}"`, `List "${'x'.repeat(199)}…`],
  ])('of %s %s is %s', (tool, input, text) => expect(toolText(tool, input)).toBe(text));
});

describe('session activity', () => {
  const ID = 'ses-1a2b3c4d';
  const [first, said, ...more] = activity;
  const delta = (text: string, number = 1) => ({ turn: number, delta: text });
  const running = session({ version: 1, turns: [turn({ outcome: null, finished_at: null })] });
  const ACTIVITY = ['session', 'activity', 's'];

  it('follows until Ctrl-C, which is no failure, and shows what is being written once', async () => {
    const text = said!.text!;
    const ran = await run(
      [...ACTIVITY, '--follow'],
      {
        'GET /api/sessions/s': running,
        [`GET /api/sessions/${ID}/activity/live`]: activityStream([
          first!,
          delta(text.slice(0, 5)),
          delta(text.slice(5, 20)),
          said!,
          delta('not as it was'),
          { ...said!, cursor: '1.0.3', text: 'Said at last.' },
          more.at(-1)!,
        ]),
      },
      {
        tty: true,
        onStdout: (out, pressCtrlC) => {
          if (out.includes('succeeded')) pressCtrlC();
        },
      },
    );
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: '' });
    expect(ran.out.split('\n')).toEqual([
      'turn 1',
      '> message msg-00000001 reached the agent',
      'I run the tests\uFFFD[2J first.',
      'Then I fix it.',
      'not as it was',
      'Said at last.',
      'turn 1 succeeded: 1234 tokens, $0.02',
      '',
    ]);
    expect(server?.asked.at(-1)?.headers['last-event-id']).toBe('1.0.0');
  });

  it('of one turn ends with it, and shows what was kept meanwhile', async () => {
    const ran = await run([...ACTIVITY, '--follow', '--turn', '1', '--json'], {
      'GET /api/sessions/s': running,
      [`GET /api/sessions/${ID}/activity/live`]: activityStream([
        first!,
        { ...first!, turn: 2, cursor: '2.0.1' },
      ]),
      [`GET /api/sessions/${ID}/events`]: stream([
        event(2, 'TurnFinished', { turn: 1, outcome: 'failed' }),
        event(3, 'SessionIdled', { reason: '' }),
      ]),
      [`GET /api/sessions/${ID}/activity`]: (response, { line }) => {
        const after = new URL(line.split(' ')[1]!, 'http://x').searchParams.get('after');
        const items = after === '1.0.0' ? activity : activity.slice(1);
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ items, next_cursor: null }));
      },
    });
    expect(ran).toMatchObject({ code: 0, err: '' });
    const cursors = ran.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { cursor: string }).cursor);
    expect(cursors).toEqual(activity.map(({ cursor }) => cursor));
  });

  it('of a finished turn is read, not followed', async () => {
    const ran = await run([...ACTIVITY, '-f', '--turn', '1'], {
      'GET /api/sessions/s': session(),
      [`GET /api/sessions/${ID}/activity`]: {
        items: [first!, { ...said!, turn: 2, cursor: '2.0.1' }],
        next_cursor: null,
      },
    });
    expect(ran.out.trim().split('\n')).toHaveLength(1);
  });
});
