import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { eventually, startTestStack, type TestStack } from '@hangar/testing';
import { createCommandClient, type CommandClient } from './command-client.ts';
import { handleCommand, hashBody } from './command-handler.ts';
import { createCommandServer, type CommandServer } from './command-server.ts';
import type { CommandHeaders } from './command-wire.ts';
import type { EventStore } from './event-store.ts';
import type { Json } from './json.ts';
import { sampleEvent, sampleFold, sampleMeta, sampleStore } from './testing/sample.ts';

let stack: TestStack;
let store: EventStore;
let client: CommandClient;
const servers: CommandServer[] = [];
const release = Promise.withResolvers<Json>();
let slowBegun = 0;

const handlers = (name: string) => ({
  Echo: async (body: Json, headers: CommandHeaders): Promise<Json> => ({ body, headers, name }),
  Refuse: () =>
    Promise.reject(new HangarError('conflict', 'it is busy', { hint: 'Wait for the turn.' })),
  Break: () => Promise.reject(new TypeError('a bug')),
  Slow: () => {
    slowBegun += 1;
    return release.promise;
  },
  Send: (body: Json, headers: CommandHeaders) => send(body, headers['idempotency-key'] ?? ''),
});

const send = async (body: Json, key: string): Promise<Json> => {
  const handled = await handleCommand(store, {
    stream: 'session/ses-1',
    fold: sampleFold,
    meta: sampleMeta(),
    command: { id: key, bodyHash: hashBody(body) },
    retriesMax: 20,
    decide: (_state, version) => ({
      events: [sampleEvent(version + 1)],
      result: { turn: version + 1 },
    }),
  });
  return handled.result;
};

beforeAll(async () => {
  stack = await startTestStack();
  store = sampleStore(stack.pool);
  client = createCommandClient({ nats: stack.nats });
  for (const name of ['one', 'two']) {
    const nats = await stack.natsServer.connect();
    const server = createCommandServer({
      nats,
      aggregate: 'session',
      handlers: handlers(name),
      concurrency: 32,
    });
    server.start();
    servers.push(server);
    await nats.flush();
  }
});
afterAll(() => stack.close());

describe('commands', () => {
  it('carry body and headers to one of the replicas and its answer back', async () => {
    const headers = { traceparent: '00-4bf9-00f0-01', actor: 'owner:Zoë' };
    const names = new Set<unknown>();
    for (let i = 0; i < 30; i += 1) {
      const answer = (await client.send('session', 'Echo', { text: 'ä\n' }, { headers })) as {
        name: string;
      };
      expect(answer).toMatchObject({ body: { text: 'ä\n' }, headers });
      names.add(answer.name);
    }
    expect(names).toEqual(new Set(['one', 'two']));
  });

  it('carry a refusal with code, message and hint', async () => {
    await expect(client.send('session', 'Refuse', null)).rejects.toMatchObject({
      name: 'HangarError',
      code: 'conflict',
      message: 'it is busy',
      hint: 'Wait for the turn.',
    });
    await expect(client.send('session', 'Break', null)).rejects.toMatchObject({ code: 'internal' });
  });

  it('are refused as unavailable when nobody listens, naming the service', async () => {
    const sent = client.send('sandbox', 'Provision', null);
    await expect(sent).rejects.toMatchObject({ code: 'unavailable' });
    await expect(sent).rejects.toThrow('no sandbox service runs');
  });

  it('name the time-out, are refused above the bound, and end before the server stops', async () => {
    const timedOut = client.send('session', 'Slow', null, { timeoutMs: 50 });
    await expect(timedOut).rejects.toThrow('Slow was not answered within 50 ms');
    const sent = Array.from({ length: 80 }, () => client.send('session', 'Slow', null));
    const settled = Promise.allSettled(sent);
    await eventually(() => slowBegun === 64);
    const stopped = Promise.all(servers.map((server) => server.stop()));
    release.resolve('slow');
    const outcomes = await settled;
    await stopped;
    const codes = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as HangarError).code,
    );
    expect(codes.filter((code) => code === 'slow')).toHaveLength(63);
    expect(codes.filter((code) => code === 'exhausted')).toHaveLength(17);
    for (const server of servers) server.start();
    await eventually(() =>
      client.send('session', 'Echo', 1).then(
        () => true,
        () => false,
      ),
    );
  });

  it('with one key are done once, also in parallel, and have one answer [M2]', async () => {
    const headers = { 'idempotency-key': 'key-1' };
    const body = { message: 'hello', mode: 'auto' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => client.send('session', 'Send', body, { headers })),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set(['{"turn":1}']),
    );
    const sameBody = { mode: 'auto', message: 'hello' };
    expect(await client.send('session', 'Send', sameBody, { headers })).toEqual({ turn: 1 });
    const other = client.send('session', 'Send', { message: 'other' }, { headers });
    await expect(other).rejects.toMatchObject({ code: 'conflict' });
    expect((await store.load('session/ses-1')).version).toBe(1);
  });

  it('with different keys are each done once, whatever conflicts they meet', async () => {
    const keys = Array.from({ length: 8 }, (_, i) => `other-${i}`);
    const answers = await Promise.all(
      [...keys, ...keys].map((key) =>
        client.send('session', 'Send', {}, { headers: { 'idempotency-key': key } }),
      ),
    );
    expect(answers.slice(0, 8)).toEqual(answers.slice(8));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(8);
    expect((await store.load('session/ses-1')).version).toBe(9);
  });
});
