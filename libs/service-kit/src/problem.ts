import { STATUS_CODES } from 'node:http';
import { HangarError, HTTP_STATUS, type ErrorCode } from '@hangar/contracts';
import { redactShapes } from './redact.ts';
import { describeIssue, issuesOf, type FieldIssue } from './validation-issue.ts';

/** An answer of a failed request, application/problem+json (RFC 9457); snake_case as all JSON. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  code: ErrorCode;
  detail: string;
  hint?: string;
  /** Path of the request. */
  instance: string;
  request_id: string;
  /** Of a body that is not valid: which field, and what is allowed there. */
  errors?: FieldIssue[];
}

/** A wrong body of thousands of fields must not become an answer of megabytes. */
const ISSUES_SHOWN_MAX = 20;
const TEXT_CHARACTERS_MAX = 4_000;

interface Failure {
  status: number;
  code: ErrorCode;
  detail: string;
  hint?: string | undefined;
  errors?: FieldIssue[];
}

/**
 * Whatever was thrown, as the answer to the person. What is `internal` says nothing of itself but
 * the id under which the log has it: its message was written for no one and may hold anything.
 */
export function toProblem(error: unknown, request: { path: string; requestId: string }): Problem {
  const { status, code, detail, hint, errors } = failureOf(error, request);
  return {
    type: `urn:hangar:problem:${code}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    detail: shown(detail),
    ...(hint ? { hint: shown(hint) } : {}),
    instance: shown(request.path.split('?', 1)[0] ?? '/'),
    request_id: request.requestId,
    ...(errors ? { errors } : {}),
  };
}

/** A validation failure as the error to throw; the issues come along for `errors`. */
export function invalidBody(issues: readonly unknown[], cause?: unknown): HangarError {
  const fields = issues.slice(0, ISSUES_SHOWN_MAX).map(describeIssue);
  const more = issues.length - fields.length;
  const sentences = fields.map(({ field, message }) => (field ? `${field}: ${message}` : message));
  if (more > 0) sentences.push(`${more} more`);
  return new HangarError('invalid', `${sentences.join('; ')}.`, {
    hint: 'Correct the fields named above; /api/docs has the schema of each route.',
    cause: cause ?? { issues },
  });
}

function failureOf(error: unknown, request: { requestId: string }): Failure {
  if (error instanceof HangarError) {
    if (error.code === 'internal') return internal(request.requestId);
    const { code, message, hint } = error;
    const issues = code === 'invalid' ? issuesOf(error.cause) : null;
    const errors = issues?.slice(0, ISSUES_SHOWN_MAX).map(describeIssue);
    return { status: HTTP_STATUS[code], code, detail: message, hint, ...(errors && { errors }) };
  }
  const issues = issuesOf(error);
  if (issues) return failureOf(invalidBody(issues, error), request);
  const status = statusOf(error);
  if (status === null || status === 500) return internal(request.requestId);
  return httpFailure(status, error);
}

function internal(requestId: string): Failure {
  return {
    status: 500,
    code: 'internal',
    detail: 'Something went wrong inside hangar.',
    hint: `Nothing more is known here; the log has the cause under the request id ${requestId}.`,
  };
}

/** What Nest and the body parser throw; their status says what happened. */
function httpFailure(status: number, error: unknown): Failure {
  const detail = messageOf(error) ?? STATUS_CODES[status] ?? 'The request failed.';
  switch (status) {
    case 404:
      return {
        status,
        code: 'not_found',
        detail: detail.startsWith('Cannot ') ? `There is no route for this: ${detail}.` : detail,
        hint: 'GET /api/openapi.json lists every route; mind the method and the spelling.',
      };
    case 413:
      return {
        status,
        code: 'invalid',
        detail: `The body is too large${limitOf(error)}.`,
        hint: 'Send less at once; files go through the file routes, which stream.',
      };
    case 415:
      return { status, code: 'invalid', detail, hint: 'Send application/json in UTF-8.' };
    default:
      return { status, code: codeOf(status), detail, hint: hintOf(status) };
  }
}

function hintOf(status: number): string | undefined {
  if (status === 400) return 'The body must be one JSON document; /api/docs has its schema.';
  if (status === 401) return 'Send an access token: Authorization: Bearer hgr_...';
  if (status === 503) return 'The service is starting or stopping; try again in a moment.';
  return undefined;
}

function codeOf(status: number): ErrorCode {
  const codes = Object.keys(HTTP_STATUS) as ErrorCode[];
  const exact = codes.find((code) => HTTP_STATUS[code] === status);
  return exact ?? (status < 500 ? 'invalid' : 'unavailable');
}

/** `status` of a Nest exception, `statusCode` of the body parser's errors. */
function statusOf(error: unknown): number | null {
  const found = fieldOf(error, 'statusCode') ?? fieldOf(error, 'status');
  const usable = typeof found === 'number' && found >= 400 && found <= 599;
  return usable ? found : null;
}

function messageOf(error: unknown): string | null {
  const message = fieldOf(error, 'message');
  return typeof message === 'string' && message !== '' ? message : null;
}

function limitOf(error: unknown): string {
  const limit = fieldOf(error, 'limit') ?? fieldOf(fieldOf(error, 'cause'), 'limit');
  return typeof limit === 'number' ? `: ${limit} bytes are allowed here` : '';
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;
}

function shown(text: string): string {
  return redactShapes(text.slice(0, TEXT_CHARACTERS_MAX));
}
