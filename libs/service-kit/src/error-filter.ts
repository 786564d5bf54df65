import {
  Catch,
  StandardSchemaValidationPipe,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HangarError } from '@hangar/contracts';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { throwError, type Observable } from 'rxjs';
import { invalidBody, toProblem } from './problem.ts';

/**
 * The edge that answers, and so the one place that logs an error: each `internal` or
 * `unavailable` one, with its causes, under the request id that the answer carries.
 */
@Catch()
export class HangarErrorFilter implements ExceptionFilter {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  catch(error: unknown, host: ArgumentsHost): Observable<never> | void {
    if (host.getType() !== 'http') return throwError(() => HangarError.from(error));
    const request = host.switchToHttp().getRequest<Request & { id?: unknown }>();
    const response = host.switchToHttp().getResponse<Response>();
    const requestId = typeof request.id === 'string' ? request.id : 'unknown';
    const problem = toProblem(error, { path: request.originalUrl, requestId });
    if (problem.status >= 500) {
      this.#logger.error({ err: error, request_id: requestId }, `${problem.code}: request failed`);
    }
    if (response.headersSent) {
      // The answer has begun, so it can only be cut: a client must not take half for the whole.
      response.destroy();
      return;
    }
    response.setHeader('X-Request-Id', requestId);
    response.status(problem.status).type('application/problem+json').send(JSON.stringify(problem));
  }
}

/** Validates every `@Body({ schema })`, `@Query` and `@Param` of that kind; says which field. */
export function validationPipe(): StandardSchemaValidationPipe {
  return new StandardSchemaValidationPipe({ exceptionFactory: (issues) => invalidBody(issues) });
}
