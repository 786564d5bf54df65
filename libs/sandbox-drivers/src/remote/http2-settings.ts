/** Bytes of one stream that may be under way; the default of 64 KiB waits for every round trip. */
const STREAM_WINDOW_BYTES = 1024 * 1024;

/** Options of `http2.createServer` and `http2.connect` for the data plane. */
export const DATA_HTTP2 = { settings: { initialWindowSize: STREAM_WINDOW_BYTES } };
