import { describe, expect, it } from '@jest/globals';
import { readTurn, recordedTurn } from '../testing/recorded-turn.ts';
import { PiProtocol, piText } from './pi.protocol.ts';

const line = (json: object): string => JSON.stringify(json);
const ended = (message: object): string =>
  line({ type: 'message_end', message: { role: 'assistant', ...message } });
const settled = line({ type: 'agent_settled', aborted: false });
const text = (words: string): object[] => [{ type: 'text', text: words }];

describe('pi protocol', () => {
  it('asks for the id before it sends the prompt', () => {
    const keys = new PiProtocol(recordedTurn(1)).open().map(({ key }) => key);
    expect(keys).toEqual(['state', 'prompt']);
    expect(piText('/skill:x')).toBe(' /skill:x');
  });

  it('fails at once when the prompt is refused', () => {
    const error = 'No API key found for anthropic.';
    const refused = line({ type: 'response', command: 'prompt', success: false, error });
    const turn = readTurn(new PiProtocol(recordedTurn(1)), [refused]);
    expect(turn.result).toMatchObject({ outcome: 'failed', error: { kind: 'authentication' } });
  });

  it.each([
    ['length', 'failed'],
    ['error', 'failed'],
    ['toolUse', 'failed'],
    ['stop', 'succeeded'],
    ['aborted', 'cancelled'],
  ])('judges by how the last reply stopped: %s', (stopReason, outcome) => {
    const lines = [ended({ stopReason, content: text('words') }), settled];
    expect(readTurn(new PiProtocol(recordedTurn(1)), lines).result?.outcome).toBe(outcome);
  });

  it('keeps the words of an earlier reply when the last one was cut', () => {
    const lines = [
      ended({ stopReason: 'toolUse', content: text('whole') }),
      ended({ stopReason: 'error', content: text('hal'), errorMessage: 'terminated' }),
      settled,
    ];
    expect(readTurn(new PiProtocol(recordedTurn(1)), lines).result?.summary).toBe('whole');
  });

  it('closes the dialog of any other extension: an open one would hold the turn', () => {
    const ask = { type: 'extension_ui_request', id: 'd', method: 'confirm', title: 'Allow?' };
    const status = { type: 'extension_ui_request', id: 'e', method: 'setStatus' };
    const turn = readTurn(new PiProtocol(recordedTurn(1)), [line(ask), line(status)]);
    expect(turn.keys).toEqual(['dialog:d']);
    expect(turn.events.map(({ type }) => type)).toEqual(['notice']);
    expect(JSON.parse(turn.lines[0] ?? '')).toMatchObject({ id: 'd', cancelled: true });
  });

  it('reads a lost conversation from the words pi leaves with', () => {
    const exit = { code: 1, signal: null };
    const result = new PiProtocol(recordedTurn(2)).exited(exit, "No session found matching 'x'");
    expect(result.error?.kind).toBe('conversation_lost');
  });
});
