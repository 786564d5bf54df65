import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestStack, type TestStack } from '@hangar/testing';
import { connectLog, type LogAddress } from './connect.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.close());

const address = (changes: Partial<LogAddress> = {}): LogAddress => ({
  service: 'test',
  databaseUrl: stack.databaseUrl,
  natsUrl: stack.natsServer.url,
  natsUser: stack.natsServer.user,
  natsPassword: stack.natsServer.password,
  ...changes,
});

/** A port that nobody listens on until `open` is called; then it leads to `target`. */
async function lateWay(target: URL): Promise<{ url: string; open(): Promise<Server> }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  const url = new URL(target);
  url.port = String(port);
  return {
    url: url.href,
    open: async () => {
      const server = createServer((client) => {
        const upstream = connectTcp(Number(target.port), target.hostname);
        client.pipe(upstream).pipe(client);
        client.on('error', () => upstream.destroy());
        upstream.on('error', () => client.destroy());
        client.on('close', () => upstream.destroy());
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server;
    },
  };
}

describe('connecting to the log', () => {
  it('by several services at once, to an empty database', async () => {
    const connections = await Promise.all(
      ['a', 'b', 'c', 'd'].map((service) => connectLog(address({ service }))),
    );
    const { rows } = await connections[0]!.pool.query('select * from es.presence');
    expect(rows).toEqual([]);
    await Promise.all(connections.map((connection) => connection.close()));
  });

  it('waits for a Postgres and a NATS that come up late', async () => {
    const database = await lateWay(new URL(stack.databaseUrl));
    const bus = await lateWay(new URL(stack.natsServer.url));
    const connecting = connectLog(address({ databaseUrl: database.url, natsUrl: bus.url }));
    let isThere = false;
    void connecting.then(() => (isThere = true));
    await new Promise((resolve) => setImmediate(resolve));
    const servers = [await database.open()];
    expect(isThere).toBe(false);
    servers.push(await bus.open());
    const log = await connecting;
    expect((await log.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await log.close();
    for (const server of servers) server.close();
  });

  it('tells at once of a wrong password, instead of waiting', async () => {
    const wrong = new URL(stack.databaseUrl);
    wrong.password = 'wrong';
    const startMs = performance.now();
    await expect(connectLog(address({ databaseUrl: wrong.href }))).rejects.toMatchObject({
      code: 'unavailable',
      hint: expect.stringContaining('HANGAR_DATABASE_URL'),
    });
    await expect(connectLog(address({ natsPassword: 'wrong' }))).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(performance.now() - startMs).toBeLessThan(10_000);
  });
});
