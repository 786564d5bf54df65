import { HangarError } from '@hangar/contracts';
import { STREAM_EVENT_CHARS_MAX } from '../bounds.ts';

/** One frame of an event stream, as the HTML standard (server-sent events) reads it. */
export interface EventFrame {
  /** The last id seen so far: a frame without one keeps the one before. */
  id: string;
  type: string;
  text: string;
}

export interface EventLineReader {
  /** Frames completed by this piece of text. Throws `internal` when one is too long. */
  push(text: string): EventFrame[];
  /** What the server asked for between two tries, in milliseconds; null when it did not. */
  readonly retryMs: number | null;
  /** The id to come back with. */
  readonly lastId: string;
}

/** Reads lines ended by LF, CR or CRLF, wherever the pieces are cut. */
export function createEventLineReader(startId = ''): EventLineReader {
  let rest = '';
  let lastId = startId;
  let frameId = startId;
  let type = '';
  let data: string[] = [];
  let size = 0;
  let retryMs: number | null = null;
  let first = true;
  let afterCr = false;

  const finish = (): EventFrame | null => {
    const frame =
      data.length > 0 ? { id: frameId, type: type || 'message', text: data.join('\n') } : null;
    lastId = frameId;
    type = '';
    data = [];
    size = 0;
    return frame;
  };
  const field = (line: string): void => {
    if (line.startsWith(':')) return;
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') {
      data.push(value);
      size += value.length;
    } else if (name === 'event') type = value;
    else if (name === 'id' && !value.includes('\0')) frameId = value;
    else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value);
  };

  return {
    push(text) {
      let piece = first && text.startsWith('\uFEFF') ? text.slice(1) : text;
      if (text !== '') first = false;
      if (afterCr && piece.startsWith('\n')) piece = piece.slice(1);
      if (piece !== '') afterCr = piece.endsWith('\r');
      const lines = (rest + piece).split(/\r\n|\n|\r/);
      rest = lines.pop() ?? '';
      const frames: EventFrame[] = [];
      for (const line of lines) {
        if (line !== '') {
          field(line);
          continue;
        }
        const frame = finish();
        if (frame) frames.push(frame);
      }
      if (rest.length + size > STREAM_EVENT_CHARS_MAX) {
        throw new HangarError(
          'internal',
          'An event of the stream is longer than this client reads',
        );
      }
      return frames;
    },
    get retryMs() {
      return retryMs;
    },
    get lastId() {
      return lastId;
    },
  };
}
