/**
 * Frames of the sandboxd protocol: `u32 length (LE) | u8 type | u32 stream (LE) | payload`.
 * Both ends treat the other as hostile, so a frame over the bound or of an unknown type is the
 * end of the connection, never an allocation.
 */

/** Bytes of data in one frame; control documents longer than this are split into HEAD frames. */
export const FRAME_DATA_BYTES_MAX = 64 * 1024;
/** One more for the channel number in front of DATA, five for CREDIT. */
const FRAME_PAYLOAD_BYTES_MAX = FRAME_DATA_BYTES_MAX + 1;
const FRAME_HEADER_BYTES = 9;

export const FRAME = {
  /** First frame in each direction: JSON, protocol version and token or instance. */
  hello: 0,
  /** A part of a header document that goes on in the next frame of the stream. */
  head: 1,
  /** The last part of the header document; it opens the stream. */
  open: 2,
  /** `u8 channel`, then bytes. */
  data: 3,
  /** `u8 channel`: nothing more follows on it. */
  end: 4,
  /** `u8 channel`, `u32 bytes`: so many more may be sent. */
  credit: 5,
  /** A JSON document inside the stream. */
  message: 6,
  /** The JSON outcome; the last frame of a stream from the side that serves it. */
  result: 7,
  /** The side that opened the stream gives it up. */
  cancel: 8,
} as const;

export type FrameType = (typeof FRAME)[keyof typeof FRAME];

const FRAME_TYPE_LAST = FRAME.cancel;

export interface Frame {
  type: FrameType;
  stream: number;
  payload: Buffer;
}

export const encodeFrameHeader = (
  type: FrameType,
  stream: number,
  payloadBytes: number,
): Buffer => {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  header.writeUInt32LE(payloadBytes, 0);
  header[4] = type;
  header.writeUInt32LE(stream, 5);
  return header;
};

/** Cuts a byte stream into frames; throws on the first frame that breaks a bound. */
export class FrameParser {
  private rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Frame[] {
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: Frame[] = [];
    while (bytes.length >= FRAME_HEADER_BYTES) {
      const length = bytes.readUInt32LE(0);
      const type = bytes[4]!;
      if (length > FRAME_PAYLOAD_BYTES_MAX) throw new Error(`a frame of ${length} bytes`);
      if (type > FRAME_TYPE_LAST) throw new Error(`a frame of unknown type ${type}`);
      if (bytes.length < FRAME_HEADER_BYTES + length) break;
      const payload = bytes.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + length);
      frames.push({ type: type as FrameType, stream: bytes.readUInt32LE(5), payload });
      bytes = bytes.subarray(FRAME_HEADER_BYTES + length);
    }
    this.rest = bytes;
    return frames;
  }
}
