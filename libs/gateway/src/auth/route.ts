import {
  All,
  applyDecorators,
  Delete,
  Get,
  HttpCode,
  Post,
  Put,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiHeader,
  ApiOperation,
  ApiProduces,
  ApiQuery,
  ApiResponse,
} from '@nestjs/swagger';
import { HTTP_STATUS, noQuerySchema, type ErrorCode, type Scope } from '@hangar/contracts';
import { z } from 'zod';

const VERBS = { GET: Get, POST: Post, PUT: Put, DELETE: Delete, ALL: All } as const;

/** What a route says of itself: who may call it, what it takes and what it answers. */
export interface RouteRules {
  /** Method and path below the controller's: `POST :ref/send`. */
  at: string;
  /** operationId in the OpenAPI document. */
  id: string;
  summary: string;
  scope: Scope;
  /** Answers by status; `null` is an answer without a body. */
  answers: Record<number, z.ZodType | null>;
  /** Content type of an answer that is not JSON. */
  produces?: string;
  errors?: ErrorCode[];
  query?: z.ZodObject;
  /** Takes an Idempotency-Key [M2]. */
  creates?: true;
  /** Of the body; 1 MiB when left out. */
  bodyBytesMax?: number;
  /** Also takes application/yaml. */
  yaml?: true;
}

/** Key of the metadata; a handler without it is refused by the guard. */
export const ROUTE_RULES = Symbol('hangar:route-rules');

/** Declares a route. Nothing else in this lib makes one, so none is without a scope. */
export function Route(rules: RouteRules): MethodDecorator {
  const [verb = '', path = ''] = rules.at.split(' ');
  const method = VERBS[verb as keyof typeof VERBS];
  const query = rules.query ?? noQuerySchema;
  const [status] = Object.keys(rules.answers).map(Number);
  return applyDecorators(
    method(path),
    HttpCode(status ?? 200),
    SetMetadata(ROUTE_RULES, { ...rules, query }),
    ApiBearerAuth(),
    ApiOperation({ operationId: rules.id, summary: rules.summary, description: scopeText(rules) }),
    ...(rules.produces ? [ApiProduces(rules.produces)] : []),
    ...answersOf(rules),
    ...queriesOf(query),
    ...(rules.creates ? [IDEMPOTENCY_HEADER] : []),
  );
}

const scopeText = ({ scope }: RouteRules): string => `Needs a token with the scope \`${scope}\`.`;

const IDEMPOTENCY_HEADER = ApiHeader({
  name: 'Idempotency-Key',
  required: false,
  description: 'The same key and body give the same answer, for 7 days; another body is refused.',
});

const REASONS: Record<number, string> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted.',
  204: 'Done.',
};

const WAITED_REASONS: Record<number, string> = {
  ...REASONS,
  200: 'With ?wait: the outcome was reached.',
  202: 'Accepted; with ?wait, the time ran out before the outcome.',
};

/** Every route can be refused for these. */
const ALWAYS: ErrorCode[] = ['invalid', 'unauthenticated', 'forbidden', 'unavailable', 'internal'];

function answersOf(rules: RouteRules): MethodDecorator[] {
  const reasons = rules.query && 'wait' in rules.query.shape ? WAITED_REASONS : REASONS;
  const answers = Object.entries(rules.answers).map(([status, schema]) =>
    ApiResponse({
      status: Number(status),
      description: reasons[Number(status)] ?? '',
      ...(schema && !rules.produces ? { standardSchema: schema } : {}),
    }),
  );
  const codes = [...new Set([...ALWAYS, ...(rules.errors ?? [])])];
  const problems = codes.map((code) =>
    ApiResponse({
      status: HTTP_STATUS[code],
      description: code,
      content: { 'application/problem+json': { schema: { $ref: PROBLEM_REF } } },
    }),
  );
  return [...answers, ...problems] as MethodDecorator[];
}

type SchemaOption = { schema: Record<string, unknown> };
const jsonSchema = (schema: z.ZodType): Record<string, unknown> => {
  const { $schema: _, id: _id, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
};
/** `serveOpenApi` adds the schema that this points at. */
const PROBLEM_REF = '#/components/schemas/Problem';

function queriesOf(query: z.ZodObject): MethodDecorator[] {
  const { properties = {} } = jsonSchema(query) as { properties?: Record<string, object> };
  return Object.entries(properties).map(
    ([name, schema]) =>
      ApiQuery({ name, required: false, ...({ schema } as SchemaOption) }) as MethodDecorator,
  );
}

/** A controller class, for lists of them. */
export type ControllerClass = Type<unknown>;
