import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Response } from 'express';
import { HangarError } from '@hangar/contracts';
import { isTransientDatabaseError } from '@hangar/messaging/postgres';
import { QueryRunnerAlreadyReleasedError, TransactionNotStartedError } from 'typeorm';
import { catchError, map, throwError, type Observable } from 'rxjs';

/** An answer whose status is not the route's first one. */
export class Answer<Body = unknown> {
  readonly status: number;
  readonly body: Body;
  constructor(status: number, body: Body) {
    this.status = status;
    this.body = body;
  }
}

@Injectable()
export class AnswerInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((answer: unknown) => {
        if (!(answer instanceof Answer)) return answer;
        context.switchToHttp().getResponse<Response>().status(answer.status);
        return answer.body;
      }),
      catchError((error: unknown) => throwError(() => whatToDo(error))),
    );
  }
}

/** No table or no schema: read models are not there before the log was read for the first time. */
const MISSING_VIEWS: ReadonlySet<unknown> = new Set(['42P01', '3F000']);

/** How TypeORM tells of a connection that was lost between two statements of a transaction. */
const isCutTransaction = (error: unknown): boolean =>
  error instanceof QueryRunnerAlreadyReleasedError || error instanceof TransactionNotStartedError;

/** A database that is away is no fault of the program: the client tries again [O2]. */
export function whatToDo(error: unknown): unknown {
  if (error instanceof HangarError) return error;
  const { code } = (error ?? {}) as { code?: unknown };
  if (MISSING_VIEWS.has(code)) {
    return new HangarError('unavailable', 'The read models are still being made from the log.', {
      hint: 'Try again in a moment; /health/ready says when.',
      cause: error,
    });
  }
  if (!isTransientDatabaseError(error) && !isCutTransaction(error)) return error;
  return new HangarError('unavailable', 'The database cannot be asked at the moment.', {
    hint: 'What you asked for may or may not be done. Look at the state, then try again.',
    cause: error,
  });
}
