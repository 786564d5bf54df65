import { describe, expect, it } from '@jest/globals';
import { readTurn, recordedTurn } from '../testing/recorded-turn.ts';
import { claudeText } from './claude-code.inbox.ts';
import { ClaudeCodeProtocol } from './claude-code.protocol.ts';

const protocol = (): ClaudeCodeProtocol => new ClaudeCodeProtocol(recordedTurn(1));
const line = (json: object): string => JSON.stringify(json);
const result = (fields: object): string =>
  line({ type: 'result', is_error: false, usage: { output_tokens: 5 }, ...fields });
const idle = line({ type: 'system', subtype: 'session_state_changed', state: 'idle' });
const task = (subtype: string, fields: object): string =>
  line({ type: 'system', subtype, ...fields });

describe('Claude Code protocol', () => {
  it('asks for the cost so far before it sends the message, with an id of the run', () => {
    const inputs = protocol().open();
    expect(inputs.map(({ key }) => key)).toEqual(['initialize', 'usage', 'prompt']);
    const uuid = (run: string): unknown =>
      JSON.parse(new ClaudeCodeProtocol(recordedTurn(1, { runId: run })).open()[2]?.line ?? '')
        .uuid;
    expect(uuid('run-00000001-1')).toBe(uuid('run-00000001-1'));
    expect(uuid('run-00000001-1')).not.toBe(uuid('run-00000001-2'));
  });

  it('hides a leading slash and nothing else', () => {
    expect(['/clear', ' /x', 'a /b', ''].map(claudeText)).toEqual([' /clear', ' /x', 'a /b', '']);
  });

  it('ends after the last of several results, with their usage added up', () => {
    const background = { task_id: 'a', task_type: 'local_agent' };
    const turn = readTurn(protocol(), [
      task('task_started', background),
      result({ result: 'started it', total_cost_usd: 1 }),
      idle,
      task('task_notification', { task_id: 'a', status: 'completed' }),
      result({ result: 'it is done', total_cost_usd: 3 }),
      idle,
    ]);
    expect(turn.events).toHaveLength(1);
    const usage = { output_tokens: 10, cost_usd: 3 };
    expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'it is done', usage });
  });

  it('does not wait for a background command: a server would never end', () => {
    const shell = task('task_started', { task_id: 's', task_type: 'local_bash' });
    expect(readTurn(protocol(), [shell, result({ result: 'ok' }), idle]).result).not.toBeNull();
  });

  it('judges by is_error, and never quotes the program as the assistant', () => {
    const text = 'API Error: 500 oops';
    const message = { model: '<synthetic>', content: [{ type: 'text', text }] };
    const failed = result({
      is_error: true,
      subtype: 'success',
      api_error_status: 500,
      result: text,
    });
    const turn = readTurn(protocol(), [line({ type: 'assistant', message }), failed, idle]);
    expect(turn.result).toMatchObject({ outcome: 'failed', summary: '' });
    expect(turn.result?.error).toEqual({ kind: 'overloaded', message: text });
  });

  it('takes the time of a usage limit from the limit event', () => {
    const limit = { status: 'rejected', resetsAt: 1_790_000_000, rateLimitType: 'five_hour' };
    const turn = readTurn(protocol(), [
      line({ type: 'rate_limit_event', rate_limit_info: limit }),
      result({ is_error: true, api_error_status: 429, result: "You've hit your limit" }),
      idle,
    ]);
    const resetsAt = '2026-09-21T14:13:20.000Z';
    expect(turn.result?.error).toMatchObject({ kind: 'usage_limit', resetsAt });
  });

  it('answers at once whatever is not for a person', () => {
    const ask = (id: string, request: object): string =>
      line({ type: 'control_request', request_id: id, request });
    const turn = readTurn(protocol(), [
      ask('a', { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'ls' } }),
      ask('b', { subtype: 'hook_callback', input: { tool_name: 'ExitPlanMode' } }),
      ask('c', { subtype: 'something_new' }),
    ]);
    expect(turn.keys).toEqual(['answer:a', 'answer:b', 'answer:c']);
    expect(turn.lines[0]).toContain('"updatedInput":{"command":"ls"}');
    expect(turn.events).toEqual([]);
  });

  it('leaves a subagent to its parent', () => {
    const message = { content: [{ type: 'text', text: 'inner' }] };
    const inner = line({ type: 'assistant', parent_tool_use_id: 't', message });
    expect(readTurn(protocol(), [inner]).events).toEqual([]);
  });

  it('says so when a message it has had already is not run again', () => {
    const started = protocol();
    const { uuid } = JSON.parse(started.open()[2]?.line ?? '');
    const lifecycle = { type: 'command_lifecycle', command_uuid: uuid, state: 'completed' };
    const turn = readTurn(started, [line(lifecycle), idle]);
    expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'unknown' } });
  });

  it('knows a lost conversation at once: no idle follows', () => {
    const errors = ['No conversation found with session ID: x'];
    const turn = readTurn(protocol(), [result({ is_error: true, errors })]);
    expect(turn.result?.error?.kind).toBe('conversation_lost');
  });

  it('is cancelled when it died of an interrupt', () => {
    const stopped = protocol();
    expect(stopped.interrupt().map(({ key }) => key)).toEqual(['interrupt']);
    const exit = { code: null, signal: 'SIGTERM' };
    expect(stopped.exited(exit, '')).toMatchObject({ outcome: 'cancelled' });
    expect(protocol().exited(exit, '')).toMatchObject({ outcome: 'failed' });
  });
});

describe('Claude Code protocol, live', () => {
  const ANSWER = { verdict: 'allow' as const, answers: { 'A or B?': 'B' }, reason: '' };
  const DENIED = { verdict: 'deny' as const, answers: {}, reason: 'no' };
  const running = line({ type: 'system', subtype: 'session_state_changed', state: 'running' });
  const uuidOf = (input: string | undefined): string => JSON.parse(input ?? '{}').uuid;
  const lifecycle = (uuid: string, state: string): string =>
    line({ type: 'command_lifecycle', command_uuid: uuid, state });
  const calledBack = (messageId: string, cancelled: boolean): string => {
    const response = { request_id: `hangar-cancel:${messageId}`, response: { cancelled } };
    return line({ type: 'control_response', response });
  };
  const hook = (id: string, tool: string, input: object, fields: object = {}): string => {
    const call = { tool_name: tool, tool_input: input, tool_use_id: id, ...fields };
    const request = { subtype: 'hook_callback', input: call };
    return line({ type: 'control_request', request_id: `hook-${id}`, request });
  };
  const question = { questions: [{ question: 'A or B?', options: [{ label: 'A' }] }] };
  const started = line({ type: 'stream_event', event: { type: 'message_start' } });
  const whole = line({ type: 'stream_event', event: { type: 'message_stop' } });
  const calls = (...ids: string[]): string =>
    line({ type: 'assistant', message: { content: ids.map((id) => ({ type: 'tool_use', id })) } });
  const echoed = (id: string): string =>
    line({ type: 'control_response', response: { request_id: `hook-${id}` } });

  /** Two messages that Claude Code has read nothing of when it is idle. */
  const late = (): { live: ClaudeCodeProtocol; uuids: string[]; keys: string[] } => {
    const live = protocol();
    live.open();
    const uuids = ['a', 'b'].map((messageId) => {
      const { inputs } = live.steer({ messageId, text: messageId });
      return uuidOf(inputs[0]?.line);
    });
    const { keys, result: early } = readTurn(live, [result({ result: 'first' }), idle]);
    expect(early).toBeNull();
    return { live, uuids, keys };
  };

  it('calls back what came as the turn ended, the newest first, and ends when it is back', () => {
    const { live, keys } = late();
    expect(keys).toEqual(['cancel:b', 'cancel:a']);
    const turn = readTurn(live, [calledBack('b', true), calledBack('a', true)]);
    const back = turn.events.slice(0, -1);
    expect(back).toEqual(['b', 'a'].map((messageId) => ({ type: 'returned', messageId })));
    expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'first' });
    const steered = live.steer({ messageId: 'c', text: 'c' });
    expect(steered).toEqual({ events: [{ type: 'returned', messageId: 'c' }], inputs: [] });
  });

  it('waits for the round of a message that could not be called back', () => {
    const { live, uuids } = late();
    const begun = [calledBack('b', true), running, lifecycle(uuids[0] ?? '', 'started')];
    expect(readTurn(live, [...begun, calledBack('a', false)]).result).toBeNull();
    // Ended by a kill in that round, the turn has not succeeded.
    expect(live.exited({ code: null, signal: 'SIGKILL' }, '').outcome).toBe('failed');
    const turn = readTurn(live, [result({ result: 'second' }), idle]);
    expect(turn.result).toMatchObject({ outcome: 'succeeded', summary: 'second' });
  });

  it('has its result when the process is gone and nothing can be called back any more', () => {
    const { live } = late();
    const gone = live.exited({ code: 0, signal: null }, '');
    expect(gone).toMatchObject({ outcome: 'succeeded', summary: 'first' });
  });

  it('does not write to a turn that is being interrupted, and calls back what waits [M8]', () => {
    const live = protocol();
    live.steer({ messageId: 'a', text: 'a' });
    live.withdraw('a');
    live.steer({ messageId: 'b', text: 'b' });
    expect(live.interrupt().map(({ key }) => key)).toEqual(['cancel:b', 'interrupt']);
    expect(live.steer({ messageId: 'c', text: 'c' }).inputs).toEqual([]);
  });

  it('answers what is asked by the same key, told before or after it was asked [M6]', () => {
    const asked = hook('q', 'AskUserQuestion', question);
    const after = protocol();
    const { events } = readTurn(after, [asked]);
    const told = protocol();
    expect(told.answer('q', ANSWER)).toEqual({ events: [], inputs: [] });
    const before = readTurn(told, [asked]);
    expect(before.events).toEqual(events);
    const { inputs } = after.answer('q', ANSWER);
    expect(inputs.map(({ key }) => key)).toEqual(['answer:hook-q']);
    expect(inputs.map((input) => input.line)).toEqual(before.lines);
    expect(after.answer('q', DENIED).inputs).toEqual([]);
    expect(readTurn(after, [echoed('q')]).events).toEqual([{ type: 'ask_closed', id: 'q' }]);
  });

  it('defers a call when it knows that it is alone in its reply [A2]', () => {
    const live = protocol();
    readTurn(live, [started, calls('q'), hook('q', 'AskUserQuestion', question)]);
    expect(live.defer()).toEqual({ events: [], inputs: [] });
    const turn = readTurn(live, [whole]);
    expect(turn.keys).toEqual(['answer:hook-q']);
    expect(turn.lines[0]).toContain('"permissionDecision":"defer"');
    expect(live.answer('q', ANSWER).inputs).toEqual([]);
    expect(readTurn(live, [result({ stop_reason: 'tool_deferred' }), idle]).result).toMatchObject({
      outcome: 'deferred',
    });
  });

  it.each([
    ['beside another call', ['q', 'r'], {}],
    ['of a subagent', [], { agent_id: 'x' }],
  ])('is interrupted when the ask is one %s', (_what, ids, fields) => {
    const live = protocol();
    readTurn(live, [started, calls(...ids), hook('q', 'AskUserQuestion', question, fields)]);
    expect(live.defer().inputs.map(({ key }) => key)).toEqual(['interrupt']);
    const aborted = result({ is_error: true, terminal_reason: 'aborted_tools' });
    expect(readTurn(live, [aborted, idle]).result).toMatchObject({ outcome: 'deferred' });
  });

  it('asks about the call it was deferred on only where the turn does not know the answer', () => {
    const ask = {
      id: 'q',
      kind: 'decision' as const,
      questions: [],
      tool: { name: 'Bash', input: {} },
    };
    const turn = recordedTurn(2, { answered: { ask, answer: DENIED } });
    const resumed = new ClaudeCodeProtocol(turn);
    const opened = resumed.open();
    expect(opened.map(({ key }) => key)).toEqual(['initialize', 'usage']);
    expect(opened[0]?.line).toContain('"matcher":"AskUserQuestion|Bash"');
    const read = readTurn(resumed, [
      running,
      hook('q', 'Bash', { command: 'ls' }),
      echoed('q'),
      // Another call of that tool needs no leave in this turn.
      hook('r', 'Bash', { command: 'ls' }),
    ]);
    expect(read.events).toEqual([{ type: 'delivered', messageId: 'msg-00000002' }]);
    expect(read.lines[0]).toContain('"permissionDecision":"deny"');
    expect(read.lines[1]).toContain('"response":{}');
  });
});
