/** The closed set of failures (one class, mapped once each to HTTP, NATS replies and exit codes). */
export type ErrorCode =
  | 'invalid'
  | 'not_found'
  | 'conflict'
  | 'forbidden'
  | 'unauthenticated'
  | 'exhausted'
  | 'unavailable'
  | 'internal';

/** HTTP status of each code; problem+json carries both. */
export const HTTP_STATUS: Record<ErrorCode, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  exhausted: 429,
  internal: 500,
  unavailable: 503,
};

/**
 * Every error a person can meet. `message` says what happened and what was kept,
 * `hint` says what to do next; both are written for that person.
 */
export class HangarError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HangarError';
    this.code = code;
    this.hint = options.hint;
  }

  /** The form that crosses process borders (NATS replies, problem+json). */
  toJSON(): ErrorJson {
    return { code: this.code, detail: this.message, ...(this.hint ? { hint: this.hint } : {}) };
  }

  static fromJSON(json: ErrorJson): HangarError {
    return new HangarError(json.code, json.detail, json.hint ? { hint: json.hint } : {});
  }

  /** Anything thrown, as a HangarError; what is not one is `internal` and keeps its cause. */
  static from(error: unknown): HangarError {
    if (error instanceof HangarError) return error;
    const message = error instanceof Error ? error.message : String(error);
    return new HangarError('internal', message, { cause: error });
  }
}

export interface ErrorJson {
  code: ErrorCode;
  detail: string;
  hint?: string;
}
