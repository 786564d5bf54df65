import { describe, expect, it } from '@jest/globals';
import { LineSplitter } from './line-splitter.ts';

const MIB = 1024 * 1024;
const text = (value: string): Buffer => Buffer.from(value);

describe('lines out of bytes', () => {
  it('are whole, wherever the bytes were cut', () => {
    const bytes = text('grüße\n\n{"a":"€"}\nrest');
    for (let size = 1; size <= bytes.length; size += 1) {
      const splitter = new LineSplitter();
      const lines: string[] = [];
      for (let at = 0; at < bytes.length; at += size)
        lines.push(...splitter.push(bytes.subarray(at, at + size)));
      expect(lines).toEqual(['grüße', '', '{"a":"€"}']);
    }
  });

  it('that are no UTF-8 are lines all the same', () => {
    const lines = new LineSplitter().push(Buffer.from([0xff, 0xc3, 0x28, 0x0a, 0x61, 0x0a]));
    expect(lines).toEqual(['\uFFFD\uFFFD(', 'a']);
  });

  it('of 16 MiB are read; longer ones are dropped whole, and what follows is read', () => {
    const splitter = new LineSplitter();
    const part = Buffer.alloc(MIB, 'x');
    const lines: string[] = [];
    for (let count = 0; count < 16; count += 1) lines.push(...splitter.push(part));
    lines.push(...splitter.push(text('\n')));
    expect(lines.map((line) => line.length)).toEqual([16 * MIB]);
    for (let count = 0; count < 40; count += 1) expect(splitter.push(part)).toEqual([]);
    expect(splitter.push(text('x\nnext\n'))).toEqual(['next']);
  });
});
