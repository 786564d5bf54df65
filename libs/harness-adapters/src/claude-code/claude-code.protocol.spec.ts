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
