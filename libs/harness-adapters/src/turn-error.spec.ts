import { describe, expect, it } from '@jest/globals';
import { processResult, turnError } from './turn-error.ts';

describe('turnError', () => {
  it.each([
    ['401 {"type":"error","error":{"type":"authentication_error"}}', 'authentication'],
    ['API Error: 403 forbidden', 'authentication'],
    ['Invalid API key · Fix external API key', 'authentication'],
    ['Not logged in · Please run /login', 'authentication'],
    ['Missing environment variable: OPENAI_API_KEY', 'authentication'],
    ['No API key found for anthropic.', 'authentication'],
    ['exceeded retry limit, last status: 429 Too Many Requests', 'usage_limit'],
    ['You’ve hit your usage limit.', 'usage_limit'],
    ["You've hit your session limit · resets 3pm", 'usage_limit'],
    ['You exceeded your current quota (insufficient_quota)', 'usage_limit'],
    ['unexpected status 529 <unknown status code>: x', 'overloaded'],
    ['Overloaded', 'overloaded'],
    ['API Error: 500 internal', 'overloaded'],
    ['{"error":{"type":"invalid_request_error","message":"m"}}', 'invalid_request'],
    ['Prompt is too long', 'invalid_request'],
    ['Codex ran out of room in the model’s context window', 'invalid_request'],
    ['terminated: other side closed (UND_ERR_SOCKET)', 'connection'],
    ['stream disconnected before completion: Transport error', 'connection'],
    ['fetch failed', 'connection'],
    ['something else', 'unknown'],
  ])('%s is %s', (message, kind) => {
    expect(turnError({ message })).toEqual({ kind, message });
  });

  it('believes the status before the words', () => {
    expect(turnError({ message: 'Overloaded', status: 401 }).kind).toBe('authentication');
  });

  const said = Date.UTC(2026, 10, 30, 12, 0, 0);
  it.each([
    ['resetsAt in seconds', { message: 'x', resetsAt: 1_790_000_000 }, '2026-09-21T14:13:20.000Z'],
    ['an epoch in the text', { message: 'limit reached|1790000000' }, '2026-09-21T14:13:20.000Z'],
    ['a date', { message: 'resets at 2026-12-01T03:00:00Z' }, '2026-12-01T03:00:00.000Z'],
    ['a span', { message: 'try again in 1 day 2 hours 5 minutes' }, '2026-12-01T14:05:00.000Z'],
    ['a clock time', { message: 'try again at 2:46 PM.' }, '2026-11-30T14:46:00.000Z'],
    ['a clock time of tomorrow', { message: 'try again at 9:05 AM.' }, '2026-12-01T09:05:00.000Z'],
    ['midnight', { message: 'try again at 12:00 AM.' }, '2026-12-01T00:00:00.000Z'],
    ['a day', { message: 'try again at Dec 2nd, 2026 1:05 PM.' }, '2026-12-02T13:05:00.000Z'],
  ])('reads when a usage limit ends: %s', (_what, reported, resetsAt) => {
    const error = turnError({ status: 429, saidAtMilliseconds: said, ...reported });
    expect(error).toMatchObject({ kind: 'usage_limit', resetsAt });
  });

  it('does not guess a time that was not said, nor one for other errors', () => {
    expect(turnError({ message: 'rate limited', status: 429 })).not.toHaveProperty('resetsAt');
    const other = turnError({ message: 'x', status: 500, resetsAt: 1_790_000_000 });
    expect(other).not.toHaveProperty('resetsAt');
  });
});

describe('processResult', () => {
  const usage = { input_tokens: 1, output_tokens: 2, cached_tokens: 0 };
  const known = { summary: 's', usage, isInterrupted: false, lost: /No session found/ };

  it('quotes how and why the process went', () => {
    const result = processResult('pi', { code: null, signal: 'SIGKILL' }, '', known);
    const error = { kind: 'process', message: 'pi ended early (signal SIGKILL)' };
    expect(result).toEqual({ outcome: 'failed', summary: 's', usage, error });
  });

  it('knows that nothing was there to log in with', () => {
    const said = 'Warning: No models available. Use /login to log into a provider';
    const result = processResult('pi', { code: 1, signal: null }, said, known);
    expect(result.error?.kind).toBe('authentication');
  });

  it('knows a lost conversation, and an interrupt', () => {
    const exit = { code: 1, signal: null };
    const lost = processResult('pi', exit, "No session found matching 'x'", known);
    expect(lost.error?.kind).toBe('conversation_lost');
    const stopped = processResult('pi', exit, 'x', { ...known, isInterrupted: true });
    expect(stopped).toEqual({ outcome: 'cancelled', summary: 's', usage });
  });
});
