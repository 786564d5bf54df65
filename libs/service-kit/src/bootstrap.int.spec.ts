import { Agent, request as httpRequest } from 'node:http';
import { Body, Controller, Get, Inject, Injectable, Module, Post, Sse } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { BODY_BYTES_MAX, HangarError } from '@hangar/contracts';
import { NEVER, Subject, type Observable } from 'rxjs';
import { z } from 'zod';
import { createService, type Service, type ServiceOptions } from './bootstrap.ts';
import type { HealthCheck } from './health.ts';
import { HealthChecks } from './health.ts';

const Message = z.strictObject({ text: z.string().max(10), mode: z.enum(['auto', 'queue']) });
const SECRET = `ghp_${'a1'.repeat(18)}`;

/** Shared with the controller: what a test holds back, and the order in which things ended. */
const scene = { release: new Subject<void>(), entered: new Subject<void>(), ended: [] as string[] };

@Injectable()
class Lifecycle implements OnModuleDestroy, OnApplicationShutdown {
  onModuleDestroy(): void {
    scene.ended.push('destroy');
  }
  onApplicationShutdown(): void {
    scene.ended.push('shutdown');
  }
}

@Controller('api')
class TestController {
  constructor(@Inject(HealthChecks) private readonly checks: HealthChecks) {}

  @Post('messages')
  send(@Body({ schema: Message }) body: z.infer<typeof Message>): object {
    return { sent: body.text };
  }
  @Get('conflict')
  conflict(): never {
    throw new HangarError('conflict', 'It is archived.', { hint: 'Fork it.' });
  }
  @Get('broken')
  broken(): never {
    throw new Error(`connection string ${SECRET}`);
  }
  @Get('slow')
  async slow(): Promise<object> {
    scene.entered.next();
    await new Promise<void>((resolve) => scene.release.subscribe(() => resolve()));
    scene.ended.push('answer');
    return { slow: true };
  }
  @Sse('events')
  events(): Observable<never> {
    scene.entered.next();
    return NEVER;
  }
  @Get('checks')
  names(): string[] {
    return this.checks.all().map(({ name }) => name);
  }
}

@Module({ controllers: [TestController], providers: [Lifecycle] })
class TestModule {}

describe('createService', () => {
  let service: Service | undefined;
  let lines: string[];

  async function start(options: Partial<ServiceOptions> = {}): Promise<string> {
    lines = [];
    scene.ended = [];
    service = await createService({
      name: 'test',
      module: TestModule,
      port: 0,
      logDestination: { write: (line) => void lines.push(line) },
      ...options,
    });
    return service.url ?? '';
  }
  const logged = (): Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>);

  afterEach(async () => {
    scene.release.next();
    await service?.close();
    service = undefined;
  });

  async function post(url: string, body: string, type = 'application/json'): Promise<Response> {
    return fetch(`${url}/api/messages`, {
      method: 'POST',
      body,
      headers: { 'content-type': type },
    });
  }

  it('answers, and validates bodies by their schema', async () => {
    const url = await start();
    const sent = await post(url, '{"text":"hi","mode":"auto"}');
    expect(sent.status).toBe(201);
    expect(await sent.json()).toEqual({ sent: 'hi' });
    expect(sent.headers.get('x-powered-by')).toBeNull();
    const wrong = await post(url, '{"text":"much too long","mode":"fast"}');
    expect(wrong.status).toBe(400);
    expect(wrong.headers.get('content-type')).toMatch('application/problem+json');
    expect(await wrong.json()).toMatchObject({
      code: 'invalid',
      detail: 'text: must be at most 10 characters long; mode: must be one of auto, queue.',
      instance: '/api/messages',
      errors: [{ field: 'text' }, { field: 'mode' }],
    });
  });

  it.each([
    ['{"text":', 'application/json', 400, 'invalid'],
    ['{"text":"hi","mode":"auto"}', 'application/json; charset=klingon', 415, 'invalid'],
    ['', 'application/json', 400, 'invalid'],
    ['x=1', 'text/plain', 400, 'invalid'],
  ])('refuses the body %j as %s', async (body, type, status, code) => {
    const answer = await post(await start(), body, type);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ status, code, hint: expect.stringMatching(/\S/) });
  });

  it('refuses a body above the bound, and says the bound', async () => {
    const url = await start();
    const text = 'x'.repeat(BODY_BYTES_MAX);
    const answer = await post(url, JSON.stringify({ text, mode: 'auto' }));
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({
      code: 'invalid',
      detail: expect.stringContaining(String(BODY_BYTES_MAX)),
    });
  });

  it('says what an unknown route is, and passes errors with their hints', async () => {
    const url = await start();
    const missing = await fetch(`${url}/api/nothing?x=1`);
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({
      code: 'not_found',
      detail: expect.stringContaining('Cannot GET /api/nothing'),
      hint: expect.stringContaining('/api/openapi.json'),
      instance: '/api/nothing',
    });
    const conflict = await fetch(`${url}/api/conflict`);
    expect(conflict.status).toBe(409);
    expect(await conflict.json()).toMatchObject({ detail: 'It is archived.', hint: 'Fork it.' });
    const odd = await fetch(`${url}/api/%FF`);
    expect([400, 404]).toContain(odd.status);
  });

  it('tells a broken request nothing but its id, and the log the cause without secrets', async () => {
    const url = await start();
    const headers = { 'x-request-id': 'client-chosen-1' };
    const answer = await fetch(`${url}/api/broken?token=${SECRET}`, { headers });
    const body = await answer.text();
    expect(answer.status).toBe(500);
    expect(answer.headers.get('x-request-id')).toBe('client-chosen-1');
    expect(JSON.parse(body)).toMatchObject({ code: 'internal', request_id: 'client-chosen-1' });
    expect(body).not.toMatch(/connection string|ghp_|\.ts/);
    const errors = logged().filter(({ request_id }) => request_id === 'client-chosen-1');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ level: 'error', name: 'test' });
    expect(JSON.stringify(errors[0])).toMatch(/connection string \[redacted\]/);
    expect(JSON.stringify(errors[0])).toMatch(/bootstrap\.int\.spec/);
    expect(lines.join('')).not.toContain(SECRET);
  });

  it('does not take a request id that could break a log', async () => {
    const url = await start();
    const answer = await fetch(`${url}/api/conflict`, { headers: { 'x-request-id': 'a "b" {c}' } });
    expect(((await answer.json()) as { request_id: string }).request_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('logs what is done or refused in JSON, but no reading, no health and no start-up', async () => {
    const url = await start();
    await (await fetch(`${url}/api/checks`)).text();
    await fetch(`${url}/health/live`);
    await fetch(`${url}/health/ready`);
    await (await fetch(`${url}/api/conflict?secret=1`)).text();
    const requests = logged().filter(({ req }) => req !== undefined);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      req: { method: 'GET', path: '/api/conflict' },
      res: { status: 409 },
      time: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(logged()).toHaveLength(1);
  });

  describe('health', () => {
    const up: HealthCheck = { name: 'nats', check: async () => ({ round_trip_ms: 1 }) };

    it('is ready when every check is', async () => {
      const url = await start({ checks: [up] });
      const live = await fetch(`${url}/health/live`);
      expect([live.status, await live.json()]).toEqual([200, { status: 'ok' }]);
      const ready = await fetch(`${url}/health/ready`);
      expect(ready.status).toBe(200);
      expect(await ready.json()).toMatchObject({
        status: 'ok',
        details: { nats: { status: 'up', round_trip_ms: 1 } },
      });
      expect(await (await fetch(`${url}/api/checks`)).json()).toEqual(['nats']);
    });

    it('says what is down and why, without secrets, and stays live', async () => {
      const down = { name: 'postgres', check: () => Promise.reject(new Error(`no ${SECRET}`)) };
      const url = await start({ checks: [up, down] });
      const ready = await fetch(`${url}/health/ready`);
      const body = await ready.text();
      expect(ready.status).toBe(503);
      expect(JSON.parse(body)).toMatchObject({
        status: 'error',
        details: { nats: { status: 'up' }, postgres: { status: 'down' } },
      });
      expect(body).toContain('no [redacted]');
      expect(body).not.toContain(SECRET);
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
    });

    it('takes a check that does not answer for down', async () => {
      const hanging = { name: 'blobs', check: () => new Promise<void>(() => undefined) };
      const url = await start({ checks: [hanging] });
      const ready = await fetch(`${url}/health/ready`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({ details: { blobs: { status: 'down' } } });
    });
  });

  describe('close', () => {
    const next = (subject: Subject<void>): Promise<void> =>
      new Promise((resolve) => void subject.subscribe(() => resolve()));

    it('lets an answer finish on a kept connection, and ends what it used after that', async () => {
      const url = await start();
      const agent = new Agent({ keepAlive: true });
      const entered = next(scene.entered);
      const answered = new Promise<number | undefined>((resolve, reject) => {
        const sent = httpRequest(`${url}/api/slow`, { agent }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode));
        });
        sent.on('error', reject).end();
      });
      await entered;
      const begun = performance.now();
      const closed = service!.close();
      expect(service!.close()).toBe(closed);
      scene.release.next();
      await expect(answered).resolves.toBe(200);
      await closed;
      expect(performance.now() - begun).toBeLessThan(4_000);
      expect(scene.ended.indexOf('answer')).toBeLessThan(scene.ended.indexOf('shutdown'));
      agent.destroy();
    });

    it('cuts a stream that does not end, after its time', async () => {
      const url = await start({ drainMillisMax: 200 });
      const entered = next(scene.entered);
      const stream = await Promise.all([fetch(`${url}/api/events`), entered]);
      const reading = stream[0].text();
      await service!.close();
      await expect(reading).rejects.toThrow('terminated');
      expect(scene.ended).toEqual(['destroy', 'shutdown']);
    });
  });

  it('says which port is taken', async () => {
    const url = await start();
    const port = Number(new URL(url).port);
    const second = createService({
      name: 'second',
      module: class Empty {},
      port,
      logLevel: 'silent',
    });
    await expect(second).rejects.toMatchObject({
      code: 'unavailable',
      message: `second cannot listen: 127.0.0.1:${port} is taken.`,
      hint: expect.stringContaining('HANGAR_PORT'),
    });
  });

  it('runs without a port', async () => {
    await start({ port: undefined as never });
    expect(service?.url).toBeNull();
    await service?.close();
    expect(scene.ended).toEqual(['destroy', 'shutdown']);
  });
});
