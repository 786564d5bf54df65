/** A wait without a number: long enough for any turn, and bounded. */
export const WAIT_SECONDS_DEFAULT = 3600;
export const WAIT_SECONDS_LIMIT = 7 * 24 * 3600;
