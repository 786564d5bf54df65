import { describe, expect, it } from '@jest/globals';
import { readTurn, recordedTurn } from '../testing/recorded-turn.ts';
import { GeminiProtocol, geminiText } from './gemini.protocol.ts';

const line = (json: object): string => JSON.stringify(json);
const said = (content: string): string => line({ type: 'message', role: 'assistant', content });
const result = (fields: object): string => line({ type: 'result', stats: {}, ...fields });
const GOOD = { status: 'success', stats: { input_tokens: 10, output_tokens: 5 } };
const read = (...lines: string[]) => readTurn(new GeminiProtocol(recordedTurn(1)), lines);

describe('gemini protocol', () => {
  it.each([
    ['/clear', 'The message:\n/clear'],
    ['  /clear', 'The message:\n  /clear'],
    ['?', 'The message:\n?'],
    ['see /etc/hosts', 'see /etc/hosts'],
  ])('makes %j a message that stays in the conversation', (prompt, text) => {
    expect(geminiText(prompt)).toBe(text);
  });

  it('is not taken in by a success without a reply', () => {
    const turn = read(result({ status: 'success', stats: { output_tokens: 0 } }));
    expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'unknown' } });
  });

  it('says why it failed when only a line before says it', () => {
    const message = 'Maximum session turns exceeded';
    const error = line({ type: 'error', severity: 'error', message });
    const turn = read(error, result({ status: 'error' }));
    expect(turn.result).toMatchObject({ outcome: 'failed', error: { message } });
  });

  it('takes a wrong key for one, whatever its status is', () => {
    const message = '[API Error: {"error":{"code":400,"message":"API key not valid. Pass one."}}]';
    const turn = read(result({ status: 'error', error: { message } }));
    const error = { kind: 'authentication', message: 'API key not valid. Pass one.' };
    expect(turn.result).toMatchObject({ outcome: 'failed', error });
  });

  it('keeps the words of the last whole reply when a later one was cut', () => {
    const use = { type: 'tool_use', tool_id: 't', tool_name: 'x', parameters: {} };
    const failed = result({ status: 'error', error: { message: '[API Error: terminated]' } });
    const turn = read(said('who'), said('le'), line(use), said('hal'), failed);
    expect(turn.result).toMatchObject({ summary: 'whole', error: { kind: 'connection' } });
  });

  it.each([
    [{ code: 41, stderr: 'you must specify the GEMINI_API_KEY' }, 'failed', 'authentication'],
    [{ code: 42, stderr: 'Error resuming session: Invalid' }, 'failed', 'conversation_lost'],
    [{ code: 1, stderr: 'SyntaxError' }, 'failed', 'process'],
    [{ code: 0, isStopped: true }, 'cancelled', undefined],
    [{ code: 0 }, 'failed', 'process'],
  ])('judges an end without a result: %j', (exit, outcome, kind) => {
    const turn = read(line({ type: 'hangar.exit', signal: null, ...exit }));
    expect(turn.result?.outcome).toBe(outcome);
    expect(turn.result?.error?.kind).toBe(kind);
  });

  it('keeps its own end when it was interrupted too late', () => {
    const protocol = new GeminiProtocol(recordedTurn(1));
    expect(protocol.interrupt().map(({ key }) => key)).toEqual(['interrupt']);
    expect(readTurn(protocol, [said('done'), result(GOOD)]).result?.outcome).toBe('succeeded');
  });

  it('gives a message back at once: it takes none while it works [M3]', () => {
    const step = new GeminiProtocol(recordedTurn(1)).steer({ messageId: 'm' });
    expect(step).toEqual({ events: [{ type: 'returned', messageId: 'm' }], inputs: [] });
  });
});
