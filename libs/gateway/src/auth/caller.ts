import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Scope } from '@hangar/contracts';
import type { EventMeta } from '@hangar/messaging';
import type { Request } from 'express';

/** Who sent the request that is being answered, and whether somebody still waits for it. */
export interface Caller {
  owner: string;
  tokenId: string;
  scopes: readonly Scope[];
  /** One id for all that follows from this request [L1]. */
  correlation: string;
  /** Aborted when the client has gone before its answer. */
  gone: AbortSignal;
  /** For answers that go on for long: whether the token still allows this. */
  stillAllowed(): Promise<boolean>;
}

/** What the access guard leaves on a request for the handler. */
export type CheckedRequest = Omit<Request, 'id'> & {
  /** The request's id, as the logger gave it; whether its types say so depends on the build. */
  id?: unknown;
  rawBody?: Buffer;
  caller?: Caller;
  asked?: unknown;
};

/** The caller; the guard has refused requests without one. */
export const FromCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<CheckedRequest>();
  if (!caller) throw new Error('a route was reached without the access guard');
  return caller;
});

/** The query string, parsed by the schema that the route declares. */
export const Asked = createParamDecorator(
  (_: unknown, context: ExecutionContext): unknown =>
    context.switchToHttp().getRequest<CheckedRequest>().asked,
);

/** For events and commands: who did it and what it belongs to. */
export const metaOf = (caller: Caller): EventMeta & { owner: string } => ({
  actor: `token:${caller.tokenId}`,
  owner: caller.owner,
  cause: null,
  correlation: caller.correlation,
});
