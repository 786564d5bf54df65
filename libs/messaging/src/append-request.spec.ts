import { describe, expect, it } from '@jest/globals';
import { EVENT_BYTES_MAX, prepareAppend } from './append-request.ts';
import { sampleMeta, sampleValidate } from './testing/sample.ts';

const prepared = (data: object) =>
  prepareAppend(
    'session/a',
    [{ type: 'TurnFinished', data }],
    { meta: sampleMeta() },
    { owns: ['session'], validate: sampleValidate },
  ).events[0];

describe('an event before it is recorded', () => {
  it('keeps its text as it is', () => {
    const data = { summary: 'grüße 😀 "\\u0000" \\ud800 \n', nested: [{ text: '\u0001' }], n: 1 };
    expect(prepared(data)?.data).toEqual(data);
  });

  it('has no zero byte and no half of a character: read models cannot store them', () => {
    const data = { summary: 'a\0b', nested: [{ text: '\ud800 and \udc00', pair: '\ud83d\ude00' }] };
    expect(prepared(data)?.data).toEqual({
      summary: 'a\uFFFDb',
      nested: [{ text: '\uFFFD and \uFFFD', pair: '😀' }],
    });
    expect(JSON.parse(prepared(data)?.text ?? '')).toEqual(prepared(data)?.data);
  });

  it('of more than its bound is refused', () => {
    expect(() => prepared({ summary: 'x'.repeat(EVENT_BYTES_MAX) })).toThrow('larger than');
  });
});
