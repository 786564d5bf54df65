import { afterEach, describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import {
  hangUp,
  json,
  problem,
  startScriptedServer,
  type ScriptedServer,
  type Step,
} from '../testing/scripted-server.ts';
import { statusOf } from './answer-error.ts';
import { createTransport, type Call } from './transport.ts';

let server: ScriptedServer;
afterEach(() => server.close());

const call = async (steps: Step[], what: Partial<Call>, signal?: AbortSignal): Promise<unknown> => {
  server = await startScriptedServer(...steps);
  const transport = createTransport({ url: server.url, token: 'key', retryMs: 1 });
  return transport.json({ method: 'GET', path: '/x', ...what, ...(signal ? { signal } : {}) });
};

const failure = async (result: Promise<unknown>): Promise<HangarError> =>
  result.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error as HangarError,
  );

const busy = problem(503, 'unavailable', 'Postgres is away.', 'Try again.');

describe('a call', () => {
  it('carries token, query, body and idempotency key', async () => {
    const body = { message: 'ä' };
    const query = { wait: 3, cursor: undefined, q: 'a b' };
    await call([json(200, {})], { method: 'POST', query, body, idempotencyKey: 'k1' });
    expect(server.seen[0]).toMatchObject({ method: 'POST', url: '/x?wait=3&q=a+b' });
    expect(server.seen[0]?.body).toBe('{"message":"ä"}');
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer key',
      'idempotency-key': 'k1',
      'content-type': 'application/json',
    });
  });

  it('is null when the answer has no body', async () => {
    await expect(call([json(204, undefined)], { method: 'DELETE' })).resolves.toBeNull();
  });

  it('fails with the code, text and hint of the problem document', async () => {
    const step = problem(409, 'conflict', 'It is archived.', 'Start a new one.');
    const error = await failure(call([step], {}));
    expect(error).toBeInstanceOf(HangarError);
    expect(error.toJSON()).toEqual({
      code: 'conflict',
      detail: 'It is archived.',
      hint: 'Start a new one.',
    });
    expect(statusOf(error)).toBe(409);
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    [401, 'unauthenticated'],
    [404, 'not_found'],
    [418, 'invalid'],
    [500, 'internal'],
  ])(
    'that a stranger answers with %i is %s, and says that it was a stranger',
    async (status, code) => {
      const page: Step = (answer) => answer.writeHead(status).end('<html>no</html>');
      const error = await failure(call([page], {}));
      expect(error.code).toBe(code);
      expect(error.hint).toMatch(/HANGAR_URL/);
    },
  );

  it('fails when the answer is not JSON', async () => {
    const page: Step = (answer) => answer.writeHead(200).end('<html>');
    expect((await failure(call([page], {}))).code).toBe('internal');
  });

  it('does not follow a redirect, which could carry the token away', async () => {
    const away: Step = (answer) => answer.writeHead(302, { location: '/y' }).end();
    expect((await failure(call([away], { tries: 1 } as Partial<Call>))).code).toBe('unavailable');
  });
});

describe('trying again', () => {
  it.each([
    ['a lost line', hangUp],
    ['503', busy],
    ['429 that says when', (answer) => answer.writeHead(429, { 'retry-after': '0' }).end()],
  ] as [string, Step][])('gets over %s', async (_name, step) => {
    await expect(call([step, step, json(200, { ok: 1 })], {})).resolves.toEqual({ ok: 1 });
    expect(server.seen).toHaveLength(3);
  });

  it('ends after four tries', async () => {
    expect((await failure(call([busy], {}))).message).toBe('Postgres is away.');
    expect(server.seen).toHaveLength(4);
  });

  it('leaves a POST alone that might be done twice', async () => {
    await failure(call([hangUp], { method: 'POST', body: {} }));
    expect(server.seen).toHaveLength(1);
  });

  it('repeats a POST with its key, the same each time', async () => {
    await call([hangUp, json(201, {})], { method: 'POST', body: {}, idempotencyKey: 'k' });
    expect(server.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['k', 'k']);
  });

  it.each([
    ['429 that does not say when', (answer) => answer.writeHead(429).end()],
    ['a wait that is too long', (answer) => answer.writeHead(503, { 'retry-after': '60' }).end()],
  ] as [string, Step][])('does not for %s', async (_name, step) => {
    await failure(call([step], {}));
    expect(server.seen).toHaveLength(1);
  });

  it('takes a DELETE as done whose first answer was lost', async () => {
    const gone = problem(404, 'not_found', 'No such session.');
    await expect(call([hangUp, gone], { method: 'DELETE' })).resolves.toBeNull();
    await server.close();
    expect((await failure(call([gone], { method: 'DELETE' }))).code).toBe('not_found');
  });

  it('sends again whatever nobody received', async () => {
    server = await startScriptedServer(json(200, {}));
    const tried: string[] = [];
    const refusing: typeof fetch = (url) => {
      tried.push(String(url));
      return Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }));
    };
    const transport = createTransport({ url: server.url, fetch: refusing, retryMs: 1 });
    const error = await failure(transport.json({ method: 'POST', path: '/x', body: {} }));
    expect(error.message).toMatch(/No hangar server answers/);
    expect(tried).toHaveLength(4);
  });
});

describe('stopping', () => {
  it('throws the reason of the signal, also between two tries', async () => {
    const stop = new AbortController();
    const step: Step = (answer) => {
      answer.writeHead(503).end();
      stop.abort(new Error('enough'));
    };
    const error = await failure(call([step], {}, stop.signal));
    expect(error.message).toBe('enough');
    expect(server.seen).toHaveLength(1);
  });
});
