import {
  Inject,
  Injectable,
  PayloadTooLargeException,
  UnsupportedMediaTypeException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { BODY_BYTES_MAX, HangarError, type Scope } from '@hangar/contracts';
import { allows, invalidBody, type Principal } from '@hangar/service-kit';
import { randomUUID } from 'node:crypto';
import type { Response } from 'express';
import { parse, YAMLParseError } from 'yaml';
import type { z } from 'zod';
import type { CheckedRequest } from './caller.ts';
import { ROUTE_RULES, type RouteRules } from './route.ts';

/** What the guard asks of the token store. */
export interface TokenResolver {
  /** null: unknown, revoked or expired. Throws `unavailable` when nobody can be asked. */
  resolve(token: string): Promise<Principal | null>;
}
export const TOKEN_RESOLVER = Symbol('TokenResolver');

type CheckedRules = RouteRules & { query: z.ZodObject };

const YAML_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml'];
/** More aliases than any recipe needs; without a bound a few lines unfold to gigabytes. */
const YAML_ALIASES_MAX = 50;

/** The one door: who calls, may they, and is the request one that this route knows. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(TOKEN_RESOLVER) private readonly tokens: TokenResolver,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<CheckedRequest>();
    if (request.path.startsWith('/health/')) return true;
    const handler = context.getHandler();
    const rules = this.reflector.get<CheckedRules | undefined>(ROUTE_RULES, handler);
    if (!rules) throw new HangarError('internal', `${handler.name} is a route without a scope`);
    const token = bearerOf(request.headers.authorization);
    const principal = await this.#principal(token);
    requireScope(principal, rules.scope);
    checkBody(request, rules);
    request.asked = parseQuery(request, rules.query);
    request.caller = {
      owner: principal.owner,
      tokenId: principal.token_id,
      scopes: principal.scopes,
      correlation: typeof request.id === 'string' ? request.id : randomUUID(),
      gone: goneSignal(http.getResponse<Response>()),
      stillAllowed: async () => {
        const now = token === null ? null : await this.tokens.resolve(token);
        return now !== null && allows(now, rules.scope);
      },
    };
    return true;
  }

  async #principal(token: string | null): Promise<Principal> {
    const principal = token === null ? null : await this.tokens.resolve(token);
    if (principal) return principal;
    const message =
      token === null ? 'This needs an access token.' : 'The access token is not valid any more.';
    throw new HangarError('unauthenticated', message, {
      hint: 'Send Authorization: Bearer <token>; an admin makes one with `hangar token create`.',
    });
  }
}

export function bearerOf(header: string | undefined): string | null {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1] ?? null;
}

/** Throws `forbidden` when the token does not hold the scope. */
export function requireScope(principal: Pick<Principal, 'scopes'>, scope: Scope): void {
  if (allows(principal, scope)) return;
  throw new HangarError('forbidden', `This needs a token with the scope ${scope}.`, {
    hint: `This token has: ${principal.scopes.join(', ')}. Ask an admin for another one.`,
  });
}

function checkBody(request: CheckedRequest, rules: RouteRules): void {
  const limit = rules.bodyBytesMax ?? BODY_BYTES_MAX;
  if ((request.rawBody?.byteLength ?? 0) > limit) {
    throw new PayloadTooLargeException({ message: 'request entity too large', limit });
  }
  const contentType = request.headers['content-type'];
  if (contentType === undefined || request.rawBody === undefined) return;
  const isYaml = YAML_TYPES.some((type) => contentType.startsWith(type));
  if (isYaml && rules.yaml) request.body = parseYaml(String(request.body));
  else if (!/^application\/json\b/i.test(contentType)) {
    throw new UnsupportedMediaTypeException(`This route does not take ${contentType}.`);
  }
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: YAML_ALIASES_MAX });
  } catch (cause) {
    const where = cause instanceof YAMLParseError ? cause.linePos?.[0] : undefined;
    const line = where ? ` (line ${where.line}, column ${where.col})` : '';
    throw new HangarError('invalid', `The body is not YAML that can be read${line}.`, {
      hint: 'Mind indentation and quotes; one document, without tags.',
      cause,
    });
  }
}

function parseQuery(request: CheckedRequest, schema: z.ZodObject): unknown {
  const parsed = schema.safeParse(request.query);
  if (parsed.success) return parsed.data;
  const error = invalidBody(parsed.error.issues);
  const known = Object.keys(schema.shape);
  throw new HangarError('invalid', `The query string: ${error.message}`, {
    hint: known.length ? `This route knows: ${known.join(', ')}.` : 'This route takes no query.',
    cause: error.cause,
  });
}

function goneSignal(response: Response): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new Error('the client has gone'));
  });
  return controller.signal;
}
