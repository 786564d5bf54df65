/** Every wait and retry of this client, with its unit. */

/** Without an answer for this long a call has failed; the seconds a call asks to wait are added. */
export const ANSWER_SECONDS_MAX = 30;
/** The first try is counted; only calls that may be repeated are tried more than once. */
export const CALL_TRIES_MAX = 4;
export const CALL_RETRY_MS_FIRST = 200;
export const CALL_RETRY_MS_MAX = 3_000;
/** A Retry-After above this is the caller's business: the error is thrown at once. */
export const RETRY_AFTER_SECONDS_MAX = 10;
/** Tries in a row to reach the event stream with nothing received: about 40 seconds in all. */
export const STREAM_TRIES_MAX = 10;
export const STREAM_RETRY_MS_FIRST = 250;
export const STREAM_RETRY_MS_MAX = 5_000;
/** The server sends a heartbeat every 15 s: after three without one the line is taken for dead. */
export const STREAM_SILENCE_SECONDS_MAX = 45;
/** Tries in a row to reach a terminal: about four minutes in all, and its viewer sees that it waits. */
export const TERMINAL_TRIES_MAX = 60;
/** What was typed while a terminal was out of reach; more is refused. */
export const TERMINAL_TYPED_BYTES_MAX = 64 * 1024;
/** A terminal acknowledges what it took in steps of this size. */
export const TERMINAL_ACK_BYTES = 32 * 1024;
/** One event: a message (1 MiB) may be in it, escaped, and more. */
export const STREAM_EVENT_CHARS_MAX = 8 * 1024 * 1024;
/** An error's answer is read up to here; what is longer is not ours. */
export const ERROR_BODY_CHARS_MAX = 64 * 1024;
