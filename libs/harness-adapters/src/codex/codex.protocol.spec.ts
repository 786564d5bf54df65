import { describe, expect, it } from '@jest/globals';
import { readTurn, recordedTurn } from '../testing/recorded-turn.ts';
import { CodexProtocol } from './codex.protocol.ts';

const line = (json: object): string => JSON.stringify(json);
const thread = line({ id: 2, result: { thread: { id: 'T' } } });
const turnStarted = line({ id: 3, result: { turn: { id: 'U' } } });
const note = (method: string, params: object): string =>
  line({ method, params: { threadId: 'T', turnId: 'U', ...params } });
const completed = (turn: object): string => note('turn/completed', { turn: { id: 'U', ...turn } });
const tokens = (turnId: string, total: number, last: number): string => {
  const count = (number: number): object => ({ inputTokens: number, outputTokens: number });
  const tokenUsage = { total: count(total), last: count(last) };
  return note('thread/tokenUsage/updated', { turnId, tokenUsage });
};

describe('Codex protocol', () => {
  it('starts or resumes a thread with everything explicit', () => {
    const inputs = (number: number): unknown[] =>
      new CodexProtocol(recordedTurn(number)).open().map((input) => JSON.parse(input.line));
    const params = { cwd: '/workspace/repo', approvalPolicy: 'never', model: 'some-model' };
    expect(inputs(1)[2]).toMatchObject({ method: 'thread/start', params });
    const threadId = '0e0c1d2e-3f40-4a5b-8c6d-7e8f90a1b2c3';
    expect(inputs(2)[2]).toMatchObject({
      method: 'thread/resume',
      params: { ...params, threadId },
    });
  });

  it('sends the prompt when the thread is there', () => {
    const turn = readTurn(new CodexProtocol(recordedTurn(1)), [thread]);
    expect(turn.events).toEqual([{ type: 'conversation', id: 'T' }]);
    expect(turn.keys).toEqual(['turn']);
  });

  it('counts this turn alone, however often the same total is said', () => {
    const lines = [thread, tokens('old', 500, 40), turnStarted];
    const again = [tokens('U', 500, 40), tokens('U', 510, 10), tokens('U', 510, 10)];
    const end = [tokens('U', 540, 30), completed({ status: 'completed' })];
    const turn = readTurn(new CodexProtocol(recordedTurn(2)), [...lines, ...again, ...end]);
    expect(turn.result?.usage).toMatchObject({ input_tokens: 40, output_tokens: 40 });
    const silent = [thread, turnStarted, tokens('U', 510, 10), completed({ status: 'completed' })];
    const resumed = readTurn(new CodexProtocol(recordedTurn(2)), silent);
    expect(resumed.result?.usage.input_tokens).toBe(10);
  });

  it('interrupts as soon as the turn runs: before, Codex refuses it', () => {
    const runs = note('turn/started', { turn: { id: 'U' } });
    const early = new CodexProtocol(recordedTurn(1));
    expect(early.interrupt()).toEqual([]);
    expect(readTurn(early, [thread, turnStarted]).keys).toEqual(['turn']);
    expect(early.interrupt()).toEqual([]);
    expect(readTurn(early, [runs]).keys).toEqual(['interrupt']);
    const later = new CodexProtocol(recordedTurn(1));
    readTurn(later, [thread, turnStarted, runs]);
    expect(later.interrupt().map(({ key }) => key)).toEqual(['interrupt']);
    const refused = line({ id: 4, error: { message: 'no active turn' } });
    expect(readTurn(later, [refused]).events).toEqual([]);
    const end = readTurn(later, [completed({ status: 'interrupted' })]);
    expect(end.result?.outcome).toBe('cancelled');
  });

  it.each([
    ['usageLimitExceeded', 'usage_limit'],
    ['unauthorized', 'authentication'],
    ['contextWindowExceeded', 'invalid_request'],
    [{ httpConnectionFailed: { httpStatusCode: 503 } }, 'overloaded'],
    [{ responseStreamDisconnected: { httpStatusCode: null } }, 'unknown'],
  ])('judges a failed turn by its error: %j', (codexErrorInfo, kind) => {
    const failed = completed({ status: 'failed', error: { message: 'm', codexErrorInfo } });
    const turn = readTurn(new CodexProtocol(recordedTurn(1)), [thread, turnStarted, failed]);
    expect(turn.result?.error).toMatchObject({ kind, message: 'm' });
  });

  it('takes the time of a usage limit from the account', () => {
    const primary = { usedPercent: 100, resetsAt: 1_790_000_000 };
    const limits = line({
      method: 'account/rateLimits/updated',
      params: { rateLimits: { primary } },
    });
    const error = { message: 'limit', codexErrorInfo: 'usageLimitExceeded' };
    const lines = [thread, turnStarted, limits, completed({ status: 'failed', error })];
    const turn = readTurn(new CodexProtocol(recordedTurn(1)), lines);
    expect(turn.result?.error?.resetsAt).toBe('2026-09-21T14:13:20.000Z');
  });

  it('refuses to go on when the thread is lost, or cannot be started', () => {
    const refused = line({ id: 2, error: { message: 'no rollout found for thread id x' } });
    const lost = readTurn(new CodexProtocol(recordedTurn(2)), [refused]);
    expect(lost.result?.error?.kind).toBe('conversation_lost');
    const failed = readTurn(new CodexProtocol(recordedTurn(1)), [refused]);
    expect(failed.result?.error?.kind).toBe('unknown');
  });

  it('answers every request of the server', () => {
    const turn = readTurn(new CodexProtocol(recordedTurn(1)), [
      line({ id: 0, method: 'item/commandExecution/requestApproval', params: {} }),
      line({ id: 2, method: 'something/new', params: {} }),
    ]);
    expect(turn.keys).toEqual(['answer:0', 'answer:2']);
    expect(turn.lines[0]).toBe('{"id":0,"result":{"decision":"accept"}}');
    expect(turn.lines[1]).toContain('"error"');
    expect(turn.events).toEqual([]);
  });

  it('leaves the threads of subagents alone', () => {
    const item = { type: 'agentMessage', text: 'inner' };
    const inner = note('item/completed', { threadId: 'other', item });
    expect(readTurn(new CodexProtocol(recordedTurn(1)), [thread, inner]).events).toHaveLength(1);
  });
});
