import type { ErrorCode } from '@hangar/contracts';

/**
 * What scripts can rely on. `stopped` is a command that ended without an
 * outcome although nothing failed: wrong usage, a question answered with no, Ctrl-C, a wait whose
 * time ran out or whose turn waits on an answer.
 */
export const EXIT = { ok: 0, failed: 1, stopped: 2, authenticate: 4 } as const;

/** `session exec` ends with the code of the command itself; this one as timeout(1) does. */
export const EXIT_EXEC_TIMED_OUT = 124;

export const exitCodeOf = (code: ErrorCode): number =>
  code === 'unauthenticated' || code === 'forbidden' ? EXIT.authenticate : EXIT.failed;
