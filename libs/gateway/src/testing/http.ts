import { ADMIN_TOKEN, type GatewayStack } from './stack.ts';

export interface Answered<Body = Record<string, unknown>> {
  status: number;
  body: Body;
  headers: Headers;
}

export interface CallOptions {
  body?: unknown;
  token?: string | null;
  headers?: Record<string, string>;
}

/** One request; a body that is no string goes as JSON. */
export async function call<Body = Record<string, unknown>>(
  stack: Pick<GatewayStack, 'url'>,
  at: string,
  options: CallOptions = {},
): Promise<Answered<Body>> {
  const [method = 'GET', path = '/'] = at.split(' ');
  const { body, token = ADMIN_TOKEN, headers = {} } = options;
  const isText = typeof body === 'string';
  const response = await fetch(`${stack.url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
  const parsed = (
    isJson && !response.headers.get('content-type')?.includes('jsonl') ? JSON.parse(text) : { text }
  ) as Body;
  return { status: response.status, body: parsed, headers: response.headers };
}

/** An environment `name` without anything, and a token of its own owner. */
export async function newOwner(
  stack: GatewayStack,
  owner: string,
  scope = 'write',
): Promise<string> {
  const made = await call<{ token: string }>(stack, 'POST /api/tokens', {
    body: { owner, name: 'spec', scope },
  });
  if (made.status !== 201) throw new Error(`no token: ${JSON.stringify(made.body)}`);
  return made.body.token;
}
