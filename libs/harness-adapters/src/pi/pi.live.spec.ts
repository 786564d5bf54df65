/** Messages, asks and answers while pi works; its lines as it writes them. */
import { describe, expect, it } from '@jest/globals';
import type { Answer, TurnSpec } from '../harness-adapter.ts';
import { readTurn, recordedTurn } from '../testing/recorded-turn.ts';
import { piAdapter } from './pi.adapter.ts';
import { PiProtocol } from './pi.protocol.ts';

const line = (json: object): string => JSON.stringify(json);
const response = (id: string, command: string, data: object = {}): string =>
  line({ id, type: 'response', command, success: true, data });
const queued = (key: string): string => response(key, 'steer', { disposition: 'queued' });
const cleared = (key: string, ...steering: string[]): string =>
  response(key, 'clear_queue', { steering, followUp: [] });
const message = (text: string): string =>
  line({ type: 'message_start', message: { role: 'user', content: [{ type: 'text', text }] } });
const said = line({ type: 'message_end', message: { role: 'assistant', stopReason: 'stop' } });
const settled = (aborted = false): string => line({ type: 'agent_settled', aborted });
const STARTED = [
  response('prompt', 'prompt', { disposition: 'started' }),
  line({ type: 'agent_start' }),
  message('the prompt'),
];
const dialog = (ask: object): string =>
  line({
    type: 'extension_ui_request',
    id: 'd',
    method: 'input',
    title: 'hangar',
    placeholder: JSON.stringify({ id: 'call-1', ...ask }),
  });
const asksQuestion = dialog({
  kind: 'question',
  questions: [{ question: 'A or B?', options: [{ label: 'A' }, { label: 'B' }] }],
});
const asksLeave = dialog({ kind: 'decision', name: 'bash', input: { command: 'make' } });
const ALLOW: Answer = { verdict: 'allow', answers: {}, reason: '' };
const DENY: Answer = { verdict: 'deny', answers: {}, reason: 'too slow' };

function started(lines: string[] = [], fields: Partial<TurnSpec> = {}): PiProtocol {
  const protocol = new PiProtocol(recordedTurn(1, fields));
  readTurn(protocol, [...STARTED, ...lines]);
  return protocol;
}
const steer = (protocol: PiProtocol, messageId: string, text: string): string[] =>
  protocol.steer({ messageId, text }).inputs.map(({ key }) => key);
const keysOf = (step: { inputs: { key: string }[] }): string[] => step.inputs.map(({ key }) => key);

describe('messages to pi at work', () => {
  it('wait for the prompt, and are text even when they look like a command [M3]', () => {
    const protocol = new PiProtocol(recordedTurn(1));
    expect(steer(protocol, 's', '/words')).toEqual([]);
    const turn = readTurn(protocol, STARTED);
    expect(turn.lines.map((each) => JSON.parse(each))).toEqual([
      { id: 'steer:s', type: 'steer', message: ' /words' },
    ]);
  });

  it('are delivered when pi takes them out of its queue, in order [M3]', () => {
    const protocol = started();
    steer(protocol, 's', 'same');
    steer(protocol, 't', 'same');
    const queue = [queued('steer:s'), queued('steer:t')];
    const turn = readTurn(protocol, [...queue, message('same'), message('other'), message('same')]);
    expect(turn.events).toEqual([
      { type: 'delivered', messageId: 's' },
      { type: 'delivered', messageId: 't' },
    ]);
  });

  it('are asked back at the end, which waits until each is settled [M3]', () => {
    const protocol = started();
    steer(protocol, 's', 'words');
    const end = readTurn(protocol, [said, settled()]);
    expect(end).toMatchObject({ events: [], keys: [] });
    expect(protocol.exited({ code: 0, signal: null }, '').outcome).toBe('succeeded');
    expect(readTurn(protocol, [queued('steer:s')]).keys).toEqual(['settle']);
    const back = readTurn(protocol, [cleared('settle', 'words')]);
    expect(back.events.map(({ type }) => type)).toEqual(['returned', 'ended']);
    expect(protocol.steer({ messageId: 't', text: 'late' })).toEqual({
      events: [{ type: 'returned', messageId: 't' }],
      inputs: [],
    });
  });

  it('come back one at a time: the others are queued again [M4]', () => {
    const protocol = started();
    steer(protocol, 's', 'one');
    steer(protocol, 't', 'two');
    // pi would clear its queue before the message is in it.
    expect(protocol.withdraw('s').inputs).toEqual([]);
    expect(readTurn(protocol, [queued('steer:s'), queued('steer:t')]).keys).toEqual(['withdraw:s']);
    const turn = readTurn(protocol, [cleared('withdraw:s', 'one', 'two')]);
    expect(turn).toMatchObject({
      events: [{ type: 'returned', messageId: 's' }],
      keys: ['steer:t:2'],
    });
    const late = readTurn(protocol, [queued('steer:t:2'), message('two')]);
    expect(late.events).toEqual([{ type: 'delivered', messageId: 't' }]);
    expect([protocol.withdraw('s'), protocol.withdraw('t')].flatMap(keysOf)).toEqual([]);
  });

  it('are taken back under the key of their write: the first of the two counts [M4]', () => {
    const told = (lines: string[]): ReturnType<typeof readTurn> => {
      const protocol = new PiProtocol(recordedTurn(1));
      steer(protocol, 's', 'one');
      expect(keysOf(protocol.withdraw('s'))).toEqual(['steer:s']);
      return readTurn(protocol, [...STARTED, ...lines]);
    };
    expect(told([response('steer:s', 'get_state')])).toMatchObject({
      events: [expect.anything(), { type: 'returned', messageId: 's' }],
      keys: [],
    });
    expect(told([queued('steer:s')]).keys).toEqual(['withdraw:s']);
  });

  it('are out of the queue before it is interrupted: pi would take them [M8]', () => {
    const idle = started();
    expect(idle.interrupt().map(({ key }) => key)).toEqual(['clear', 'abort']);
    const protocol = started();
    steer(protocol, 's', 'one');
    expect(protocol.interrupt().map(({ key }) => key)).toEqual(['clear']);
    expect(steer(protocol, 'held', 'two')).toEqual([]);
    const turn = readTurn(protocol, [cleared('clear'), queued('steer:s')]);
    expect(turn.keys).toEqual(['withdraw:s', 'abort']);
    const end = readTurn(protocol, [cleared('withdraw:s', 'one'), settled(true)]);
    expect(end.events.map(({ type }) => type)).toEqual(['returned', 'returned', 'ended']);
    expect(end.result?.outcome).toBe('cancelled');
  });

  it('are no matter when it is interrupted early: what aborts it waits until it runs [M8]', () => {
    const protocol = new PiProtocol(recordedTurn(1));
    expect(protocol.interrupt().map(({ key }) => key)).toEqual(['clear']);
    expect(readTurn(protocol, STARTED).keys).toEqual(['abort']);
  });

  it('that an earlier service wrote count, also when the stop is told first [M6]', () => {
    const protocol = new PiProtocol(recordedTurn(1));
    steer(protocol, 's', 'one');
    protocol.interrupt();
    const turn = readTurn(protocol, [...STARTED, queued('steer:s'), message('one')]);
    expect(turn.events.at(-1)).toEqual({ type: 'delivered', messageId: 's' });
  });
});

describe('what pi asks', () => {
  it('has its extension below HOME, and its gate only when leave is wanted [A3]', () => {
    const command = (asksLeave: boolean): ReturnType<typeof piAdapter.command> =>
      piAdapter.command(recordedTurn(1, { asksLeave }));
    const path = command(false).files.find((file) => file.path.endsWith('hangar.mjs'))?.path;
    expect(command(false).argv).toEqual(
      expect.arrayContaining(['--extension', `/home/agent/${path}`]),
    );
    expect(command(true).envVars['HANGAR_ASKS_LEAVE']).toBe('1');
    expect(command(false).envVars).not.toHaveProperty('HANGAR_ASKS_LEAVE');
  });

  it('gets an answer to its question, or the reason why there is none [A1]', () => {
    const value = (answer: Answer): unknown => {
      const [input] = started([asksQuestion]).answer('call-1', answer).inputs;
      const { id, value: text } = JSON.parse(input?.line ?? '');
      expect([input?.key, id]).toEqual(['dialog:d', 'd']);
      return JSON.parse(text);
    };
    expect(value({ ...ALLOW, answers: { 1: 'B' } })).toEqual({ isAllowed: true, text: 'B' });
    expect(value(DENY)).toMatchObject({ text: 'There is no answer to this: too slow' });
  });

  it('says each of several questions with its answer', () => {
    const questions = [{ question: 'A?' }, { question: 'B?', multiSelect: true }];
    const protocol = started();
    const turn = readTurn(protocol, [dialog({ kind: 'question', questions })]);
    expect(turn.events[0]).toMatchObject({ ask: { questions: [{}, { isMultiple: true }] } });
    const [input] = protocol.answer('call-1', { ...ALLOW, answers: { 1: 'x', 2: 'y, z' } }).inputs;
    expect(JSON.parse(JSON.parse(input?.line ?? '').value).text).toBe('«A?»: x\n«B?»: y, z');
  });

  it('gets leave for a call, or the reason why not; the first answer counts [A3]', () => {
    const protocol = started([asksLeave], { asksLeave: true });
    const { events, inputs } = protocol.answer('call-1', DENY);
    expect(events).toEqual([{ type: 'ask_closed', id: 'call-1' }]);
    expect(JSON.parse(JSON.parse(inputs[0]?.line ?? '').value)).toEqual({
      isAllowed: false,
      text: 'You may not do this: too slow',
    });
    expect(protocol.answer('call-1', ALLOW)).toEqual({ events: [], inputs: [] });
  });

  it('defers by an interrupt, and goes on with the answer in words [A2]', () => {
    const protocol = started([asksQuestion]);
    const { events, inputs } = protocol.defer();
    expect(events).toEqual([{ type: 'ask_closed', id: 'call-1' }]);
    expect(inputs.map(({ key }) => key)).toEqual(['clear', 'abort']);
    expect(readTurn(protocol, [settled(true)]).result?.outcome).toBe('deferred');
    const questions = [{ id: '1', text: 'A or B?', choices: [], isMultiple: false }];
    const answered = {
      ask: { id: 'call-1', kind: 'question' as const, questions },
      answer: { ...ALLOW, answers: { 1: 'B' } },
    };
    const opened = new PiProtocol(recordedTurn(2, { prompt: '', answered })).open();
    expect(opened[1]?.line).toContain('Your question «A or B?» was answered: B. Continue.');
  });
});
