import { HTTP_STATUS, HangarError, type ErrorCode } from '@hangar/contracts';
import { ERROR_BODY_CHARS_MAX } from '../bounds.ts';

const codeOfStatus = (status: number): ErrorCode => {
  for (const [code, value] of Object.entries(HTTP_STATUS)) {
    if (value === status) return code as ErrorCode;
  }
  if (status === 502 || status === 504) return 'unavailable';
  return status >= 400 && status < 500 ? 'invalid' : 'internal';
};

const isCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(HTTP_STATUS, value);

/** The HTTP status that belongs to an error of this client. */
export const statusOf = (error: HangarError): number => HTTP_STATUS[error.code];

/**
 * The error that an answer of 400 and above stands for. The code, detail and hint are those of
 * the problem document; an answer without one comes from something in between (a proxy, another
 * program on the port), and the error says so.
 */
export async function errorOfAnswer(answer: Response, where: string): Promise<HangarError> {
  const text = (await answer.text().catch(() => '')).slice(0, ERROR_BODY_CHARS_MAX);
  const problem = problemOf(text);
  if (problem && isCode(problem['code'])) {
    const hint = problem['hint'];
    const detail = String(problem['detail'] ?? problem['title'] ?? text);
    return new HangarError(problem['code'], detail, typeof hint === 'string' ? { hint } : {});
  }
  const code = codeOfStatus(answer.status);
  return new HangarError(code, `${where} answered ${answer.status} without saying why`, {
    hint: `Check that the address is that of a hangar server (HANGAR_URL).`,
  });
}

function problemOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // Not JSON: the caller says what that means.
  }
}
