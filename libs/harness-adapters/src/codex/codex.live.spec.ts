/** Messages, asks and answers while Codex works; its lines as it writes them. */
import { describe, expect, it } from '@jest/globals';
import type { Answer, TurnSpec } from '../harness-adapter.ts';
import { readTurn, recordedTurn } from '../testing/recorded-turn.ts';
import { CodexProtocol } from './codex.protocol.ts';

const line = (json: object): string => JSON.stringify(json);
const note = (method: string, params: object): string =>
  line({ method, params: { threadId: 'T', turnId: 'U', ...params } });
const message = (clientId: string): string =>
  note('item/started', { item: { type: 'userMessage', clientId } });
const command = { type: 'commandExecution', id: 'call-1', command: 'make' };
const commandStarted = note('item/started', { item: command });
const commandEnded = note('item/completed', { item: { ...command, status: 'completed' } });
const replyEnded = note('thread/tokenUsage/updated', { tokenUsage: {} });
const over = (status: string): string => note('turn/completed', { turn: { id: 'U', status } });
const STARTED = [
  line({ id: 2, result: { thread: { id: 'T' } } }),
  line({ id: 3, result: { turn: { id: 'U' } } }),
  note('turn/started', { turn: { id: 'U' } }),
  message('msg-00000001'),
];
const asksLeave = line({
  id: 0,
  method: 'item/commandExecution/requestApproval',
  params: { threadId: 'T', turnId: 'U', itemId: 'call-1', command: 'make' },
});
const asksQuestion = line({
  id: 0,
  method: 'item/tool/requestUserInput',
  params: { itemId: 'call-1', questions: [{ id: 'q', question: 'A or B?', options: null }] },
});
const ALLOW: Answer = { verdict: 'allow', answers: {}, reason: '' };
const DENY: Answer = { verdict: 'deny', answers: {}, reason: 'too slow' };

function started(fields: Partial<TurnSpec> = {}, lines = STARTED): CodexProtocol {
  const protocol = new CodexProtocol(recordedTurn(1, fields));
  readTurn(protocol, lines);
  return protocol;
}
const steer = (protocol: CodexProtocol, messageId = 's'): string[] =>
  protocol.steer({ messageId, text: 'words' }).inputs.map(({ key }) => key);

describe('messages to Codex at work', () => {
  it('are written at once when no tool runs, for the turn that runs [M3]', () => {
    const [input] = started().steer({ messageId: 's', text: 'words' }).inputs;
    expect(JSON.parse(input?.line ?? '')).toMatchObject({
      id: 'steer:s',
      method: 'turn/steer',
      params: { threadId: 'T', expectedTurnId: 'U', clientUserMessageId: 's' },
    });
  });

  it('wait for the prompt to be delivered, and for a running tool', () => {
    const early = new CodexProtocol(recordedTurn(1));
    expect(steer(early)).toEqual([]);
    expect(readTurn(early, STARTED).keys).toEqual(['turn', 'steer:s']);
    const busy = started({}, [...STARTED, commandStarted]);
    expect([...steer(busy, 's'), ...steer(busy, 't')]).toEqual([]);
    expect(readTurn(busy, [commandEnded]).keys).toEqual(['steer:s', 'steer:t']);
  });

  it('wait for one that went into the background until its reply is over', () => {
    const busy = started({}, [...STARTED, commandStarted]);
    expect(steer(busy)).toEqual([]);
    expect(readTurn(busy, [replyEnded]).keys).toEqual(['steer:s']);
  });

  it('are delivered when Codex says so, and given back when it refuses [M3]', () => {
    const taken = started();
    steer(taken);
    expect(readTurn(taken, [line({ id: 'steer:s', result: { turnId: 'U' } })]).events).toEqual([]);
    expect(readTurn(taken, [message('s'), message('s')]).events).toEqual([
      { type: 'delivered', messageId: 's' },
    ]);
    const refused = started();
    steer(refused);
    const error = line({ id: 'steer:s', error: { message: 'no active turn to steer' } });
    expect(readTurn(refused, [error]).events).toEqual([{ type: 'returned', messageId: 's' }]);
  });

  it('hold the end of the turn until each is settled; the process may leave before', () => {
    const protocol = started();
    steer(protocol);
    expect(readTurn(protocol, [over('completed')]).events).toEqual([]);
    const exited = protocol.exited({ code: 0, signal: null }, '');
    expect(exited.outcome).toBe('succeeded');
    const refused = line({ id: 'steer:s', error: { message: 'no active turn to steer' } });
    const end = readTurn(protocol, [refused]);
    expect(end.events.map(({ type }) => type)).toEqual(['returned', 'ended']);
    expect(protocol.steer({ messageId: 't', text: 'late' })).toEqual({
      events: [{ type: 'returned', messageId: 't' }],
      inputs: [],
    });
  });

  it('come back when the turn is interrupted, also those that Codex took but dropped [M8]', () => {
    const protocol = started();
    steer(protocol, 'taken');
    readTurn(protocol, [line({ id: 'steer:taken', result: {} }), commandStarted]);
    steer(protocol, 'held');
    expect(protocol.interrupt().map(({ key }) => key)).toEqual(['interrupt']);
    const end = readTurn(protocol, [commandEnded, over('interrupted')]);
    expect(end.keys).toEqual([]);
    expect(end.events.flatMap((event) => ('messageId' in event ? [event.messageId] : []))).toEqual([
      'held',
      'taken',
    ]);
    expect(end.result?.outcome).toBe('cancelled');
  });

  it('are taken back under the key of their write: the first of the two counts [M4]', () => {
    const busy = started({}, [...STARTED, commandStarted]);
    steer(busy);
    const [claim, ...more] = busy.withdraw('s').inputs;
    expect(more).toEqual([]);
    expect(claim?.key).toBe('steer:s');
    expect(JSON.parse(claim?.line ?? '').params.expectedTurnId).toBe('withdrawn');
    expect(readTurn(busy, [commandEnded]).keys).toEqual([]);
    // Only what Codex answers tells which of the two it got.
    const late = line({ id: 'steer:s', result: { turnId: 'U' } });
    expect(readTurn(busy, [late, message('s')]).events).toEqual([
      { type: 'delivered', messageId: 's' },
    ]);
    expect(busy.withdraw('s').inputs).toEqual([]);
  });
});

describe('what Codex asks', () => {
  it('is asked about every call when leave is wanted, and about none otherwise [A3]', () => {
    const policy = (fields: Partial<TurnSpec>): string =>
      JSON.parse(new CodexProtocol(recordedTurn(1, fields)).open()[2]?.line ?? '').params
        .approvalPolicy;
    expect([policy({}), policy({ asksLeave: true })]).toEqual(['never', 'untrusted']);
  });

  it('is told why a call is denied before the denial, so that the two go together [A3]', () => {
    const protocol = started({ asksLeave: true }, [...STARTED, commandStarted, asksLeave]);
    const { events, inputs } = protocol.answer('call-1', DENY);
    expect(events).toEqual([{ type: 'ask_closed', id: 'call-1' }]);
    expect(inputs.map(({ key }) => key)).toEqual(['reason:call-1', 'answer:0']);
    expect(inputs[0]?.line).toContain('denied: too slow');
    expect(inputs[1]?.line).toContain('"decline"');
    // The reason is no message of a person.
    expect(readTurn(protocol, [message('reason:call-1')]).events).toEqual([]);
    expect(protocol.answer('call-1', ALLOW)).toEqual({ events: [], inputs: [] });
  });

  it('asks about a change of files with its paths and its diff', () => {
    const changes = [{ path: '/w/a.txt', kind: { type: 'add' }, diff: '+hello' }];
    const protocol = started({ asksLeave: true });
    const turn = readTurn(protocol, [
      note('item/started', { item: { type: 'fileChange', id: 'call-2', changes } }),
      line({ id: 1, method: 'item/fileChange/requestApproval', params: { itemId: 'call-2' } }),
    ]);
    expect(turn.events.at(-1)).toMatchObject({
      type: 'asked',
      ask: {
        questions: [{ text: 'change /w/a.txt' }],
        tool: { name: 'apply_patch', input: { paths: ['/w/a.txt'], diff: '+hello' } },
      },
    });
  });

  it('asks about the calls of MCP servers, each by its own id [A3]', () => {
    const call = (id: string): string =>
      note('item/started', { item: { type: 'mcpToolCall', id, server: 'demo', tool: 'poke' } });
    const form = (id: number, about: object): string => {
      const params = { threadId: 'T', turnId: 'U', serverName: 'demo', _meta: about };
      return line({ id, method: 'mcpServer/elicitation/request', params });
    };
    const about = {
      codex_approval_kind: 'mcp_tool_call',
      tool_name: 'poke',
      tool_params: { x: 1 },
    };
    const protocol = started({ asksLeave: true });
    const lines = [call('call-2'), call('call-3'), form(1, about), form(2, about), form(3, {})];
    const { events, keys } = readTurn(protocol, lines);
    const asks = events.flatMap((event) => (event.type === 'asked' ? [event.ask] : []));
    expect(asks.map(({ id }) => id)).toEqual(['call-2', 'call-3']);
    expect(asks[0]).toMatchObject({
      questions: [{ text: 'use demo.poke {"x":1}' }],
      tool: { name: 'demo.poke', input: { x: 1 } },
    });
    expect(keys).toEqual(['answer:3']);
    const [reason, denied] = protocol.answer('call-3', DENY).inputs;
    expect(reason?.key).toBe('reason:call-3');
    expect(JSON.parse(denied?.line ?? '')).toMatchObject({ id: 2, result: { action: 'decline' } });
    const [allowed] = protocol.answer('call-2', ALLOW).inputs;
    expect(JSON.parse(allowed?.line ?? '')).toMatchObject({ id: 1, result: { action: 'accept' } });
  });

  it('gets an answer to its question, or the reason why there is none [A1]', () => {
    const ask = (answer: Answer): string =>
      started({}, [...STARTED, asksQuestion]).answer('call-1', answer).inputs[0]?.line ?? '';
    expect(JSON.parse(ask({ ...ALLOW, answers: { q: 'B' } })).result).toEqual({
      answers: { q: { answers: ['B'] } },
    });
    expect(ask(DENY)).toContain('There is no answer to this: too slow.');
  });

  it('gets no message while it waits, and the answer of a person that came before [M6]', () => {
    const protocol = new CodexProtocol(recordedTurn(1));
    protocol.answer('call-1', { ...ALLOW, answers: { q: 'B' } });
    const turn = readTurn(protocol, [...STARTED, asksQuestion]);
    expect(turn.keys).toEqual(['turn', 'answer:0']);
    expect(turn.events.slice(-2).map(({ type }) => type)).toEqual(['asked', 'ask_closed']);
    expect(steer(protocol)).toEqual([]);
    const resolved = note('serverRequest/resolved', { requestId: 0 });
    expect(readTurn(protocol, [resolved])).toMatchObject({ events: [], keys: ['steer:s'] });
  });

  it('is closed when Codex gives it up [A4]', () => {
    const protocol = started({}, [...STARTED, asksQuestion]);
    const resolved = note('serverRequest/resolved', { threadId: 'sub', requestId: 0 });
    const closed = [{ type: 'ask_closed', id: 'call-1' }];
    expect(readTurn(protocol, [resolved, resolved]).events).toEqual(closed);
    expect(protocol.answer('call-1', ALLOW).inputs).toEqual([]);
  });

  it('defers by an interrupt; a later answer is not written [A2]', () => {
    const quiet = started();
    expect(quiet.defer()).toEqual({ events: [], inputs: [] });
    const protocol = started({}, [...STARTED, asksQuestion]);
    const { events, inputs } = protocol.defer();
    expect(events).toEqual([{ type: 'ask_closed', id: 'call-1' }]);
    expect(inputs.map(({ key }) => key)).toEqual(['interrupt']);
    expect(protocol.answer('call-1', ALLOW).inputs).toEqual([]);
    expect(protocol.exited({ code: null, signal: 'SIGKILL' }, '').outcome).toBe('deferred');
    expect(readTurn(protocol, [over('interrupted')]).result?.outcome).toBe('deferred');
    const told = new CodexProtocol(recordedTurn(1));
    told.defer();
    const turn = readTurn(told, [...STARTED, asksQuestion, over('interrupted')]);
    expect(turn.keys).toEqual(['turn', 'interrupt']);
    expect(turn.result?.outcome).toBe('deferred');
  });

  it('is cancelled, not deferred, when a person interrupts it [A4]', () => {
    const protocol = started({}, [...STARTED, asksQuestion]);
    protocol.defer();
    protocol.interrupt();
    expect(readTurn(protocol, [over('interrupted')]).result?.outcome).toBe('cancelled');
  });

  it('goes on from what it was deferred on with the answer in words [A2]', () => {
    const questions = [{ id: 'q', text: 'A or B?', choices: [], isMultiple: false }];
    const answered = {
      ask: { id: 'call-1', kind: 'question' as const, questions },
      answer: { ...ALLOW, answers: { q: 'B' } },
    };
    const protocol = new CodexProtocol(recordedTurn(2, { prompt: '', answered }));
    const [turn] = readTurn(protocol, STARTED).lines;
    expect(turn).toContain('Your question «A or B?» was answered: B. Continue.');
  });
});
