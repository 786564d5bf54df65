import { describe, expect, it } from '@jest/globals';
import type { HarnessEvent } from '../harness-adapter.ts';
import { readTurn, recordedTurn } from '../testing/recorded-turn.ts';
import { AntigravityProtocol } from './antigravity.protocol.ts';

const ID = '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3';
const init = (id = ID): string => JSON.stringify({ event: 'init', conversation_id: id, init: {} });
const step = (body: object): string => JSON.stringify({ event: 'step_update', step_update: body });
const result = (body: object): string => JSON.stringify({ event: 'result', result: body });
const USAGE = { input_tokens: 800, output_tokens: 50, cache_read_tokens: 200 };
const USER = step({ step_index: 0, step_type: 'user_input', state: 'DONE' });

const read = (lines: string[], number = 1) =>
  readTurn(new AntigravityProtocol(recordedTurn(number)), lines);
const types = (events: HarnessEvent[]): string[] => events.map(({ type }) => type);

describe('a turn with Antigravity, in lines as they are said to be', () => {
  it('has the message as one line on stdin', () => {
    const protocol = new AntigravityProtocol(recordedTurn(1, { prompt: 'a\n"b"' }));
    const [input] = protocol.open();
    expect(JSON.parse(input?.line ?? '')).toEqual({
      event: 'user',
      message: { content: 'a\n"b"' },
    });
  });

  it('tells text as it is written, a message when its step is done, and the end', () => {
    const reply = { step_index: 1, step_type: 'agent_response' };
    const { events, result: end } = read([
      init(),
      USER,
      step({ ...reply, state: 'ACTIVE', text_delta: 'all ' }),
      step({ ...reply, state: 'ACTIVE', text_delta: 'done' }),
      step({ ...reply, state: 'DONE', text_delta: '\n' }),
      result({ status: 'SUCCESS', response: 'all done\n', usage: USAGE }),
    ]);
    expect(types(events)).toEqual([
      'conversation',
      'delivered',
      'text_delta',
      'text_delta',
      'text_delta',
      'message',
      'ended',
    ]);
    expect(end).toEqual({
      outcome: 'succeeded',
      summary: 'all done',
      usage: { input_tokens: 1000, output_tokens: 50, cached_tokens: 200 },
    });
  });

  it('tells a tool once, with its exit code, whether it was seen at work or not', () => {
    const tool = (index: number, state: string, info: object): string =>
      step({
        step_index: index,
        step_type: 'tool',
        tool_name: 'run_command',
        state,
        tool_info: { parameters: { CommandLine: 'make' }, ...info },
      });
    const { events } = read([
      init(),
      USER,
      tool(1, 'ACTIVE', {}),
      tool(1, 'DONE', { output: 'ok' }),
      tool(1, 'DONE', { output: 'ok' }),
      tool(2, 'ERROR', { error: 'exit status 3' }),
    ]);
    expect(events.slice(2)).toEqual([
      { type: 'tool_started', id: 'step-1', name: 'run_command', input: { CommandLine: 'make' } },
      { type: 'tool_finished', id: 'step-1', output: 'ok', isError: false },
      { type: 'tool_started', id: 'step-2', name: 'run_command', input: { CommandLine: 'make' } },
      {
        type: 'tool_finished',
        id: 'step-2',
        output: 'exit status 3',
        isError: true,
        exitCode: 3,
      },
    ]);
  });

  it('is lost when it speaks of another conversation than the one to resume [R3]', () => {
    const other = 'ffffffff-0000-4000-8000-000000000000';
    const { events, result: end } = read([init(other), USER], 2);
    expect(events[0]).toEqual({ type: 'conversation', id: other });
    expect(end).toMatchObject({ outcome: 'failed', error: { kind: 'conversation_lost' } });
    expect(read([init(), USER], 2).result).toBeNull();
  });

  it.each([
    ['was denied a tool', { status: 'SUCCESS', response: '', denied_actions: [{}], usage: USAGE }],
    ['ran out of its own time', { status: 'SUCCESS', response: 'half', usage: {} }],
    ['has no words for it', { status: 'ERROR' }],
  ])('is no success when it %s', (_what, body) => {
    const { result: end } = read([init(), USER, result(body)]);
    expect(end).toMatchObject({ outcome: 'failed' });
    expect(end?.error?.message).not.toBe('');
  });

  it('that was interrupted is cancelled, however it leaves', () => {
    const protocol = new AntigravityProtocol(recordedTurn(1));
    readTurn(protocol, [init(), USER]);
    expect(protocol.interrupt()).toEqual([]);
    expect(protocol.exited({ code: 130, signal: null }, '')).toMatchObject({
      outcome: 'cancelled',
    });
  });

  it('that never came to its end is no success', () => {
    const protocol = new AntigravityProtocol(recordedTurn(1));
    readTurn(protocol, [init(), USER]);
    expect(protocol.exited({ code: 1, signal: null }, 'you are not logged in')).toMatchObject({
      outcome: 'failed',
      error: { kind: 'authentication' },
    });
  });
});
