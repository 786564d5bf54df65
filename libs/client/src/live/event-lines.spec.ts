import { describe, expect, it } from '@jest/globals';
import { STREAM_EVENT_CHARS_MAX } from '../bounds.ts';
import { createEventLineReader, type EventFrame } from './event-lines.ts';

const readAll = (pieces: string[], startId = ''): EventFrame[] => {
  const reader = createEventLineReader(startId);
  return pieces.flatMap((piece) => reader.push(piece));
};

describe('the lines of an event stream', () => {
  const text = 'id: 1\nevent: SessionIdled\ndata: {"a":1}\n\nid: 2\ndata: x\ndata: y\n\n';
  const frames = [
    { id: '1', type: 'SessionIdled', text: '{"a":1}' },
    { id: '2', type: 'message', text: 'x\ny' },
  ];

  it.each([
    ['LF', text],
    ['CRLF', text.replaceAll('\n', '\r\n')],
    ['CR', text.replaceAll('\n', '\r')],
    ['a byte order mark', `\uFEFF${text}`],
  ])('are read with %s, wherever they are cut', (_name, whole) => {
    expect(readAll([whole])).toEqual(frames);
    expect(readAll(whole.split(''))).toEqual(frames);
    for (let cut = 1; cut < whole.length; cut += 1) {
      expect(readAll([whole.slice(0, cut), whole.slice(cut)])).toEqual(frames);
    }
  });

  it('hold comments that say nothing', () => {
    expect(readAll([': heartbeat\n\n', ':\n\n', text])).toEqual(frames);
  });

  it('keep the id of before when a frame has none, and refuse one with a NUL', () => {
    expect(readAll(['data: a\n\nid: 9\0\ndata: b\n\n'], '7')).toEqual([
      { id: '7', type: 'message', text: 'a' },
      { id: '7', type: 'message', text: 'b' },
    ]);
  });

  it('take off one space after the colon, and know fields without one', () => {
    expect(readAll(['data:  two\ndata\ndata:none\n\n'])[0]?.text).toBe(' two\n\nnone');
  });

  it('make no frame of what the end cut off', () => {
    expect(readAll(['id: 3\ndata: half'])).toEqual([]);
  });

  it('say how long to wait before coming back', () => {
    const reader = createEventLineReader();
    reader.push('retry: 1500\nretry: soon\n\n');
    expect(reader.retryMs).toBe(1500);
  });

  it('have a bound', () => {
    const reader = createEventLineReader();
    expect(() => reader.push(`data: ${'x'.repeat(STREAM_EVENT_CHARS_MAX)}`)).toThrow(/longer/);
  });
});
