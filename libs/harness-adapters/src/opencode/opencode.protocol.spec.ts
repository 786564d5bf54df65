import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../harness-adapter.ts';
import { readTurn, recordedLines, recordedTurn } from '../testing/recorded-turn.ts';
import { OpencodeProtocol } from './opencode.protocol.ts';

const ID = 'ses_dd296bd1effeHEEw5rTF25mI2J';
const KEYS = { ANTHROPIC_API_KEY: 'k' };
const line = (json: object): string => JSON.stringify(json);
const response = (key: string, status: number, body: object | null = null): string =>
  line({ type: 'hangar.response', key, status, body });
const opened = response('session', 200, { id: ID, time: { updated: 100 } });
const user = (created: number): string =>
  line({
    type: 'message.updated',
    info: { id: `u${created}`, role: 'user', sessionID: ID, time: { created } },
  });
const reply = (fields: object): string =>
  line({ type: 'message.updated', info: { id: 'a', role: 'assistant', sessionID: ID, ...fields } });
const part = (fields: object): string =>
  line({ type: 'message.part.updated', part: { messageID: 'a', sessionID: ID, ...fields } });
const idle = line({ type: 'session.idle', sessionID: ID });
const failed = (error: object): string => line({ type: 'session.error', sessionID: ID, error });
const retry = (attempt: number): string =>
  line({ type: 'session.status', status: { type: 'retry', attempt, message: 'Overloaded' } });
const protocol = (fields = {}): OpencodeProtocol =>
  new OpencodeProtocol(recordedTurn(1, { envVars: KEYS, conversationId: null, ...fields }));
const answer = (fields: Partial<Answer>): Answer => ({
  verdict: 'allow',
  answers: {},
  reason: '',
  ...fields,
});

describe('opencode protocol', () => {
  it('makes a session, then sends the prompt to it with the model of the turn', () => {
    const turn = protocol({ model: 'claude-x', prompt: '/clear' });
    expect(turn.open().map((each) => JSON.parse(each.line))).toMatchObject([
      { key: 'session', method: 'POST', path: '/session' },
    ]);
    const [prompt] = turn.line(opened).inputs.map((each) => JSON.parse(each.line));
    expect(prompt).toMatchObject({
      path: `/session/${ID}/prompt_async`,
      body: {
        model: { providerID: 'anthropic', modelID: 'claude-x' },
        parts: [{ type: 'text', text: '/clear' }],
      },
    });
  });

  it('sends nothing without a key: the prompt would go to a service of its own', () => {
    const turn = readTurn(protocol({ envVars: {} }), [opened]);
    expect(turn.keys).toEqual([]);
    expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'authentication' } });
  });

  it.each([
    [404, ID, 'conversation_lost'],
    [500, '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3', 'conversation_lost'],
    [500, ID, 'process'],
  ])('reads status %i for the session %s as %s', (status, conversationId, kind) => {
    const turn = protocol({ resume: true, conversationId });
    expect(turn.open().map((each) => JSON.parse(each.line).method)).toEqual(['GET']);
    const { result } = readTurn(turn, [response('session', status, { data: {} })]);
    expect(result).toMatchObject({ outcome: 'failed', error: { kind } });
  });

  it('says nothing of an earlier turn that is told of again, and counts nothing of it', () => {
    const old = { time: { created: 50, completed: 60 }, tokens: { input: 9, output: 9 } };
    const done = { time: { created: 120, completed: 130 }, finish: 'stop', tokens: { output: 5 } };
    const call = { type: 'tool', callID: 't', tool: 'bash', state: { status: 'completed' } };
    const lines = [opened, user(40), reply(old), part(call), user(110), reply(done), idle];
    const turn = readTurn(protocol(), lines);
    expect(turn.events.map(({ type }) => type)).toEqual(['conversation', 'delivered', 'ended']);
    expect(turn.result?.usage).toMatchObject({ input_tokens: 0, output_tokens: 5 });
  });

  it('says that a call began when it is told only of its end', () => {
    const state = { status: 'completed', input: {}, output: 'x', metadata: { exit: 3 } };
    const over = part({ type: 'tool', callID: 't', tool: 'bash', state });
    const begun = reply({ time: { created: 120 } });
    const turn = readTurn(protocol(), [opened, user(110), begun, over, over]);
    const said = turn.events.filter(({ type }) => type.startsWith('tool'));
    expect(said).toMatchObject([
      { type: 'tool_started', id: 't' },
      { type: 'tool_finished', isError: true, exitCode: 3 },
    ]);
  });

  it('ends a request that is repeated too often, as a failure', () => {
    const turn = readTurn(protocol({ envVars: { ...KEYS, HANGAR_MODEL_RETRIES: '1' } }), [
      opened,
      user(110),
      retry(1),
      retry(2),
      failed({ name: 'MessageAbortedError', data: {} }),
      idle,
      idle,
    ]);
    expect(turn.events.filter(({ type }) => type === 'retrying')).toHaveLength(1);
    expect(turn.keys).toEqual(['prompt', 'abort']);
    expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'overloaded' } });
  });

  it.each([
    [{ finish: 'stop' }, 'succeeded'],
    [{ finish: 'length' }, 'failed'],
    [{ finish: 'tool-calls' }, 'failed'],
    [{ error: {} }, 'failed'],
  ])('judges by how the last reply stopped: %j', (fields, outcome) => {
    const last = reply({ time: { created: 120, completed: 130 }, ...fields });
    expect(readTurn(protocol(), [opened, user(110), last, idle]).result?.outcome).toBe(outcome);
  });

  it('is interrupted before it has begun, too', () => {
    const turn = protocol();
    expect(turn.interrupt()).toEqual([]);
    expect(readTurn(turn, [opened]).result?.outcome).toBe('cancelled');
  });

  it('goes on after a denied call: a rejection always has a reason', () => {
    const turn = protocol({ asksLeave: true });
    const permission = { permission: 'bash', patterns: ['ls'], tool: { callID: 't' } };
    readTurn(turn, [opened, user(110), line({ type: 'permission.asked', id: 'p', ...permission })]);
    const [input] = turn.answer('t:bash', answer({ verdict: 'deny' })).inputs;
    expect(JSON.parse(input?.line ?? '')).toMatchObject({
      path: '/permission/p/reply',
      body: { reply: 'reject', message: expect.stringMatching(/./) },
    });
  });

  it('says what became of a question and two decisions, whenever they were answered [A1] [A3]', () => {
    const lines = recordedLines(import.meta.dirname, 'live');
    const given: [string, Answer][] = [];
    const turn = protocol({ asksLeave: true });
    const events = lines.flatMap((each) => {
      const said = turn.line(each).events;
      const asks = said.flatMap((event) => (event.type === 'asked' ? [event.ask] : []));
      const closed = asks.flatMap(({ id, kind, questions }) => {
        const blue = answer({ answers: { [questions[0]?.id ?? '']: 'Blue' } });
        const denied = answer({ verdict: 'deny', reason: 'not today' });
        given.push([id, kind === 'question' ? blue : given.length > 1 ? denied : answer({})]);
        return turn.answer(...(given.at(-1) as [string, Answer])).events;
      });
      return [...said, ...closed];
    });
    const asked = events.flatMap((event) => (event.type === 'asked' ? [event.ask] : []));
    expect(asked.map(({ kind }) => kind)).toEqual(['question', 'decision', 'decision']);
    expect(asked[2]?.tool?.input).toMatchObject({ command: 'echo two > two.txt' });
    expect(events.at(-1)).toMatchObject({ type: 'ended', result: { outcome: 'succeeded' } });
    // As by a service that restarts: answers are told before the first line.
    const again = protocol({ asksLeave: true });
    for (const [id, each] of given) expect(again.answer(id, each).events).toEqual([]);
    const replayed = readTurn(again, lines);
    const sorted = (values: object[]): string[] =>
      values.map((value) => JSON.stringify(value)).toSorted();
    expect(sorted(replayed.events)).toEqual(sorted(events));
    expect(replayed.keys).toEqual(['prompt', ...given.map(([id]) => `reply:${id}`)]);
  });
});
