import { HangarError, type ErrorCode } from '@hangar/contracts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { Interrupted } from './terminal.ts';

/** An error as a person reads it, in three lines: what happened, what was kept, what to do next. */
export interface FailureText {
  code: ErrorCode;
  what: string;
  kept: string;
  next: string;
  exitCode: number;
}

/** Thrown by commands that know all three lines themselves. */
export class Failure extends Error {
  readonly text: FailureText;

  constructor(text: Omit<FailureText, 'exitCode'> & { exitCode?: number }) {
    super(text.what);
    this.name = 'Failure';
    this.text = { exitCode: EXIT.failed, ...text };
  }
}

/** A command that was not used as its page says, or that a person did not confirm. */
export const refused = (what: string, next: string): Failure =>
  new Failure({ code: 'invalid', what, kept: NOTHING_CHANGED, next, exitCode: EXIT.stopped });

const NOTHING_CHANGED = 'Nothing was changed.';

export interface FailureContext {
  /** The command changes something on the server. */
  changes: boolean;
  /** Where the token came from, or why there is none. */
  tokenSource: string;
  hasToken: boolean;
}

/** Anything thrown, in three lines. */
export function failureText(error: unknown, context: FailureContext): FailureText {
  if (error instanceof Failure) return error.text;
  if (error instanceof Interrupted) {
    return {
      code: 'invalid',
      what: 'Stopped by Ctrl-C.',
      kept: keptAfter('unavailable', context.changes),
      next: context.changes ? 'Look at the state before you try again.' : 'Run it again.',
      exitCode: EXIT.stopped,
    };
  }
  const known = HangarError.from(error);
  return {
    code: known.code,
    what: sentence(known.message),
    kept: keptAfter(known.code, context.changes),
    next: sentence(nextStep(known, context)),
    exitCode: exitCodeOf(known.code),
  };
}

/** The server refuses before it changes anything; a lost answer leaves both possible. */
function keptAfter(code: ErrorCode, changes: boolean): string {
  if (!changes || (code !== 'unavailable' && code !== 'internal')) return NOTHING_CHANGED;
  return 'It is not known whether the server did it; what it did is in its log.';
}

function nextStep(error: HangarError, context: FailureContext): string {
  if (error.code === 'unauthenticated') {
    return context.hasToken
      ? `The token (${context.tokenSource}) is not known to this server: get another one`
      : `Set HANGAR_TOKEN or --token-file (${context.tokenSource})`;
  }
  if (error.hint) return error.hint;
  if (error.code === 'forbidden') return 'Use a token with the scope that this needs';
  if (error.code === 'not_found')
    return 'Check the name or id: the verbs list and get show what there is';
  return 'Run hangar doctor, which names what is wrong';
}

/** Starts with a capital and ends with a stop, as what stands on a line of its own. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const start = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?:)\]]$/.test(start) ? start : `${start}.`;
}
