import { createHash, timingSafeEqual } from 'node:crypto';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares a bearer token with the service's own in constant time, whatever its length. */
export const createTokenCheck = (token: string): ((given: string) => boolean) => {
  const expected = digest(token);
  return (given) => timingSafeEqual(digest(given), expected);
};

/** Refuses every request without a token that `authorize` accepts. */
export const requireToken =
  (authorize: (token: string) => boolean): Interceptor =>
  (next) =>
  (request) => {
    const given = /^Bearer (.+)$/.exec(request.header.get('authorization') ?? '')?.[1];
    if (given === undefined || !authorize(given)) {
      throw new ConnectError('unknown token', Code.Unauthenticated);
    }
    return next(request);
  };

export const sendToken =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set('authorization', `Bearer ${token}`);
    return next(request);
  };
