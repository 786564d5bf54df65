import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  CreatedToken,
  EnvironmentDocument,
  LimitsDocument,
  Page,
  Problem,
  SecretDocument,
  TokenDocument,
} from '@hangar/contracts';
import { call, newOwner } from '../testing/http.ts';
import { startGatewayStack, type GatewayStack } from '../testing/stack.ts';

let stack: GatewayStack;
let writer: string;
let reader: string;
beforeAll(async () => {
  stack = await startGatewayStack();
  writer = await newOwner(stack, 'dev', 'write');
  reader = await newOwner(stack, 'dev', 'read');
}, 120_000);
afterAll(() => stack.close(), 60_000);

interface OpenApi {
  openapi: string;
  paths: Record<
    string,
    Record<string, { operationId: string; summary: string; responses: object }>
  >;
}

/** Method and path of every operation, with something in place of its parameters. */
async function operations(): Promise<{ at: string; id: string; responses: object }[]> {
  const { body } = await call<OpenApi>(stack, 'GET /api/openapi.json', { token: null });
  return Object.entries(body.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, { operationId, responses }]) => ({
      at: `${verb.toUpperCase()} ${path.replace(/\{[^}]+\}/g, 'x')}`,
      id: operationId,
      responses,
    })),
  );
}

describe('every route', () => {
  it('is in the OpenAPI 3.1 document, with a summary, its answers and its errors', async () => {
    const { body } = await call<OpenApi>(stack, 'GET /api/openapi.json', { token: null });
    expect(body.openapi).toBe('3.1.0');
    const all = Object.values(body.paths).flatMap((verbs) => Object.values(verbs));
    const own = all.filter(({ operationId }) => !operationId.startsWith('Health'));
    expect(own.length).toBe(55);
    for (const operation of own) {
      expect(operation.summary).not.toBe('');
      const codes = Object.keys(operation.responses);
      expect(codes).toEqual(expect.arrayContaining(['400', '401', '403', '500', '503']));
      expect(codes.some((code) => /^[12]/.test(code))).toBe(true);
    }
  });

  it('is described without a reference that leads nowhere, and has a page to read it', async () => {
    const { body } = await call<OpenApi & { components: { schemas: Record<string, object> } }>(
      stack,
      'GET /api/openapi.json',
      { token: null },
    );
    const text = JSON.stringify(body);
    const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(20);
    const known = Object.keys(body.components.schemas);
    expect(names.filter((name) => !known.includes(name!))).toEqual([]);
    const others = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!);
    expect(others.filter((ref) => !ref.startsWith('#/components/schemas/'))).toEqual([]);
    expect((await call(stack, 'GET /api/docs', { token: null })).status).toBe(200);
  });

  it('refuses who has no token, a wrong one, or one of too small a scope [Z1]', async () => {
    const needsMore: string[] = [];
    for (const { at, id } of await operations()) {
      if (id.startsWith('Health')) continue;
      const without = await call<Problem>(stack, at, { token: null });
      expect({ at, status: without.status }).toEqual({ at, status: 401 });
      expect(without.body.hint).toContain('Authorization');
      const wrong = await call<Problem>(stack, at, { token: `hgr_${'0'.repeat(32)}` });
      expect({ at, status: wrong.status }).toEqual({ at, status: 401 });
      const isRead = at.startsWith('GET ') && !/\/(tokens|attach)$/.test(at);
      if (isRead) continue;
      needsMore.push(at);
      const small = await call<Problem>(stack, at, { token: reader });
      expect({ at, status: small.status, code: small.body.code }).toEqual({
        at,
        status: 403,
        code: 'forbidden',
      });
    }
    expect(needsMore.length).toBe(32);
  });

  it('refuses query parameters that it does not know', async () => {
    for (const { at, id } of await operations()) {
      if (id.startsWith('Health')) continue;
      const answer = await call<Problem>(stack, `${at}?no_such_thing=1`);
      expect({ at, status: answer.status }).toEqual({ at, status: 400 });
      expect(`${answer.body.detail}`).toContain('no_such_thing');
      expect(answer.body.hint).toContain('This route');
    }
  });

  it('has health without a token', async () => {
    expect((await call(stack, 'GET /health/live', { token: null })).body).toEqual({ status: 'ok' });
    const ready = await call(stack, 'GET /health/ready', { token: null });
    expect(ready.status).toBe(200);
    expect(JSON.stringify(ready.body)).toContain('read_models');
  });

  it('answers problem+json for what is not a route, not JSON, or too large', async () => {
    expect((await call(stack, 'GET /api/nothing')).status).toBe(404);
    const headers = { 'content-type': 'application/json' };
    const broken = await call<Problem>(stack, 'POST /api/sessions', { body: '{"name":', headers });
    expect(broken.status).toBe(400);
    const large = { name: 'x', message: 'x'.repeat(1024 * 1024) };
    const refused = await call<Problem>(stack, 'POST /api/sessions', { body: large });
    expect({ status: refused.status, code: refused.body.code }).toEqual({
      status: 413,
      code: 'invalid',
    });
    const text = { 'content-type': 'text/plain' };
    const plain = await call<Problem>(stack, 'POST /api/sessions', { body: 'hi', headers: text });
    expect(plain.status).toBe(400);
  });
});

describe('environments [X1]', () => {
  const yaml = { 'content-type': 'application/yaml' };

  it('take YAML and JSON; the same recipe keeps its version, a change counts one up', async () => {
    const body = 'name: py\nsetup:\n  - pip install -e .\nenv:\n  MODE: test\nidle_minutes: 15\n';
    const made = await call<EnvironmentDocument>(stack, 'POST /api/environments', {
      body,
      headers: yaml,
      token: writer,
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: 'py',
      owner: 'dev',
      version: 1,
      recipe: { setup: ['pip install -e .'], env: { MODE: 'test' }, network: 'open' },
    });
    const recipe = { idle_minutes: 15, env: { MODE: 'test' }, setup: ['pip install -e .'] };
    const put = (body: object) =>
      call<EnvironmentDocument>(stack, 'PUT /api/environments/py', { body, token: writer });
    expect((await put(recipe)).body.version).toBe(1);
    expect((await put({ ...recipe, idle_minutes: 20 })).body.version).toBe(2);
    const got = await call<EnvironmentDocument>(stack, 'GET /api/environments/py', {
      token: reader,
    });
    expect(got.body.recipe.idle_minutes).toBe(20);
    expect((await call(stack, 'GET /api/environments/py')).status).toBe(404);
  });

  it.each([
    ['an unknown key', { setups: [] }, 'setups'],
    ['a mount over the work', { mounts: [{ source: '/a', target: '/workspace/x' }] }, '/workspace'],
    ['a relative mount', { mounts: [{ source: 'a', target: '/opt/a' }] }, 'absolute'],
    ['a harness that is not here', { harnesses: ['nobody'] }, 'claude-code'],
    ['another name than the path', { name: 'else' }, 'path'],
  ])('refuse %s', async (_, body, word) => {
    const answer = await call<Problem>(stack, 'PUT /api/environments/bad', { body });
    expect(answer.status).toBe(400);
    expect(`${answer.body.detail} ${answer.body.hint}`).toContain(word);
  });

  it('with mounts need an admin: they open the host to a sandbox', async () => {
    const body = { mounts: [{ source: '/srv/cache', target: '/opt/cache' }] };
    const asked = (token?: string) =>
      call(stack, 'PUT /api/environments/mounted', { body, ...(token ? { token } : {}) });
    expect((await asked(writer)).status).toBe(403);
    expect((await asked()).status).toBe(200);
  });

  it('refuse YAML that unfolds without end, or is none', async () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let n = 1; n < 9; n += 1) {
      lines.push(
        `${'abcdefghi'[n]}: &${'abcdefghi'[n]} [${Array(9)
          .fill(`*${'abcdefghi'[n - 1]}`)
          .join()}]`,
      );
    }
    for (const body of [lines.join('\n'), 'name: [']) {
      const answer = await call<Problem>(stack, 'POST /api/environments', { body, headers: yaml });
      expect({ status: answer.status, code: answer.body.code }).toEqual({
        status: 400,
        code: 'invalid',
      });
    }
  });

  it('are deleted by name', async () => {
    const at = 'DELETE /api/environments/py';
    expect((await call(stack, at, { token: writer })).status).toBe(204);
    expect((await call(stack, at, { token: writer })).status).toBe(404);
    const listed = await call<Page<EnvironmentDocument>>(stack, 'GET /api/environments', {
      token: writer,
    });
    expect(listed.body.items).toEqual([]);
  });
});

describe('secrets [Z2]', () => {
  it('never come back, and the log knows names and versions only', async () => {
    const value = 'sk-very-secret-value';
    const set = () =>
      call<SecretDocument>(stack, 'POST /api/secrets', {
        body: { name: 'API_KEY', value },
        token: writer,
      });
    expect((await set()).body).toMatchObject({ name: 'API_KEY', version: 1 });
    const again = await set();
    expect(again.body.version).toBe(2);
    const listed = await call<{ items: SecretDocument[] }>(stack, 'GET /api/secrets', {
      token: reader,
    });
    expect(listed.body.items).toEqual([again.body]);
    expect((await call<{ items: [] }>(stack, 'GET /api/secrets')).body.items).toEqual([]);
    const { rows } = await stack.log.pool.query<{ type: string; data: object; meta: object }>(
      `select type, data, meta from es.event
       where stream_id = 'access/dev' and type like 'Secret%'`,
    );
    expect(rows.map(({ type }) => type)).toEqual(['SecretSet', 'SecretSet']);
    expect(rows[1]?.data).toEqual({ owner: 'dev', name: 'API_KEY', version: 2 });
    expect(JSON.stringify(rows)).not.toContain(value);
    const dump = await stack.log.pool.query('select * from secret');
    expect(JSON.stringify(dump.rows)).not.toContain(value);
  });

  it('set again with the same key stay as they are', async () => {
    const headers = { 'idempotency-key': 'secret-1' };
    const set = (value: string) =>
      call<SecretDocument & Problem>(stack, 'POST /api/secrets', {
        body: { name: 'KEYED', value },
        headers,
        token: writer,
      });
    const twins = await Promise.all([set('a'), set('a'), set('a')]);
    expect(twins.map(({ body }) => body.version)).toEqual([1, 1, 1]);
    expect((await set('b')).status).toBe(409);
    expect((await call(stack, 'DELETE /api/secrets/KEYED', { token: writer })).status).toBe(204);
  });

  it('and their event commit together, or neither', async () => {
    await stack.log.pool.query(
      "alter table es.event add constraint closed check (type <> 'SecretSet') not valid",
    );
    const failed = await call<Problem>(stack, 'POST /api/secrets', {
      body: { name: 'LATE', value: 'x' },
      token: writer,
    });
    await stack.log.pool.query('alter table es.event drop constraint closed');
    expect(failed.status).toBe(500);
    const listed = await call<{ items: SecretDocument[] }>(stack, 'GET /api/secrets', {
      token: writer,
    });
    expect(listed.body.items.map(({ name }) => name)).toEqual(['API_KEY']);
  });

  it('are bounded and deleted', async () => {
    const large = { name: 'LARGE', value: 'x'.repeat(65 * 1024) };
    expect((await call(stack, 'POST /api/secrets', { body: large, token: writer })).status).toBe(
      400,
    );
    const at = 'DELETE /api/secrets/API_KEY';
    expect((await call(stack, at)).status).toBe(404);
    expect((await call(stack, at, { token: writer })).status).toBe(204);
    expect((await call(stack, at, { token: writer })).status).toBe(404);
  });
});

describe('tokens [Z1]', () => {
  it('are shown once, hashed at rest, and refused once revoked', async () => {
    const headers = { 'idempotency-key': 'token-1' };
    const body = { owner: 'bot', name: 'ci', scope: 'write' };
    const make = () => call<CreatedToken>(stack, 'POST /api/tokens', { body, headers });
    const twins = await Promise.all([make(), make(), make(), make()]);
    const made = twins[0];
    expect(made.status).toBe(201);
    for (const twin of [...twins, await make()]) expect(twin.body).toEqual(made.body);
    const { token, id } = made.body;
    const who = await call(stack, 'GET /api/who', { token });
    expect(who.body).toMatchObject({ owner: 'bot', scopes: ['write', 'read'], token_id: id });
    const listed = await call<{ items: TokenDocument[] }>(stack, 'GET /api/tokens');
    expect(listed.body.items.filter(({ owner }) => owner === 'bot')).toHaveLength(1);
    expect(JSON.stringify(listed.body)).not.toContain(token);
    const tables = await stack.log.pool.query(
      `select (select json_agg(t) from access_token t)::text || (select json_agg(k) from
        gateway.idempotency_key k)::text || (select json_agg(e) from es.event e)::text as dump`,
    );
    expect(String(tables.rows[0]?.dump)).not.toContain(token);
    expect((await call(stack, `DELETE /api/tokens/${id}`)).status).toBe(204);
    expect((await call(stack, `DELETE /api/tokens/${id}`)).status).toBe(204);
    expect((await call(stack, 'GET /api/who', { token })).status).toBe(401);
    const { rows } = await stack.log.pool.query<{ type: string }>(
      "select type from es.event where stream_id = 'access/bot' order by version",
    );
    expect(rows.map(({ type }) => type)).toEqual(['TokenCreated', 'TokenRevoked']);
  });

  it('refuse an owner that could not name a stream, and an unknown id', async () => {
    const body = { owner: 'a_b', name: 'ci', scope: 'write' };
    expect((await call(stack, 'POST /api/tokens', { body })).status).toBe(400);
    expect((await call(stack, 'DELETE /api/tokens/tok-00000000')).status).toBe(404);
  });
});

describe('GET /api/limits [S8]', () => {
  it('says what will happen, in which unit, and what changes it', async () => {
    const body = { name: 'bounded', turn_minutes: 5, harnesses: ['pi'] };
    await call(stack, 'POST /api/environments', { body });
    const { body: found } = await call<LimitsDocument>(
      stack,
      'GET /api/limits?environment=bounded&harness=pi',
    );
    const named = (name: string) => found.limits.find((limit) => limit.name === name);
    expect(named('turn_minutes')).toMatchObject({
      value: 5,
      unit: 'minutes',
      default: 60,
      source: 'environment',
      changed_by: 'recipe.turn_minutes or HANGAR_TURN_MINUTES',
    });
    expect(named('max_active_sessions')).toMatchObject({ value: 20, source: 'setting' });
    for (const { name, unit, does } of found.limits) {
      expect([name, unit, does]).not.toContain('');
    }
    const refused = await call<Problem>(stack, 'GET /api/limits?environment=bounded&harness=codex');
    expect(refused.body.hint).toContain('pi');
    expect((await call(stack, 'GET /api/limits?environment=none')).status).toBe(404);
  });
});
