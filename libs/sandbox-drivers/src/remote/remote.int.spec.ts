import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { HangarError } from '@hangar/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeSandboxDriver, newSpec } from '../testing/index.ts';
import { openLocalDriver } from '../testing/local-driver-factory.ts';
import type { SandboxRef } from '../sandbox-driver.ts';
import {
  createRemoteSandboxIo,
  createTokenCheck,
  DATA_HTTP2,
  sandboxIoRoutes,
  type Activity,
} from './index.ts';

const TOKEN = 'a service token';

/** A local driver behind a server, and the data plane as it is seen through that. */
const openRemote = async () => {
  const local = await openLocalDriver('auto');
  const activities: Activity[] = [];
  const refusal: { error?: Error } = {};
  const routes = sandboxIoRoutes(local.driver, {
    authorize: createTokenCheck(TOKEN),
    onActivity: (activity) => {
      if (refusal.error) throw refusal.error;
      activities.push(activity);
    },
  });
  const sessions = new Set<ServerHttp2Session>();
  const server: Http2Server = createServer(DATA_HTTP2, connectNodeAdapter({ routes }));
  server.on('session', (session) => sessions.add(session));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const io = createRemoteSandboxIo({ url, token: TOKEN });
  const cutConnections = (): void => {
    for (const session of sessions) session.destroy();
    sessions.clear();
  };
  return {
    local,
    io,
    url,
    activities,
    refusal,
    cutConnections,
    driver: { ...local.driver, ...io, close: () => local.driver.close() },
    async close() {
      io.close();
      cutConnections();
      server.close();
      await local.close();
    },
  };
};

describeSandboxDriver('data plane over the network', openRemote);

describe('remote data plane', () => {
  let remote: Awaited<ReturnType<typeof openRemote>>;
  let ref: SandboxRef;
  beforeAll(async () => {
    remote = await openRemote();
    ref = await remote.driver.create(newSpec());
  });
  afterAll(async () => {
    await remote.driver.destroy(ref.id);
    await remote.driver.close();
    await remote.close();
  });

  it('refuses a wrong token and none, on every kind of call', async () => {
    for (const token of ['wrong', 'a service tokem', ' ']) {
      const io = createRemoteSandboxIo({ url: remote.url, token });
      const refused = { code: 'unauthenticated' };
      await expect(io.files.stat(ref, '/')).rejects.toMatchObject(refused);
      await expect(io.exec(ref, { argv: ['true'] })).rejects.toMatchObject(refused);
      await expect(io.files.put(ref, '/tmp/x', Buffer.from('x'))).rejects.toMatchObject(refused);
      io.close();
    }
  });

  it('tells activity, and is quiet about quiet requests', async () => {
    remote.activities.length = 0;
    const exec = await remote.io.exec(ref, { argv: ['true'], quiet: true });
    await exec.exit;
    const probe = createRemoteSandboxIo({ url: remote.url, token: TOKEN, quiet: true });
    await probe.files.stat(ref, '/workspace');
    probe.close();
    expect(remote.activities).toEqual([]);
    const loud = await remote.io.exec(ref, { argv: ['true'] });
    await loud.exit;
    await remote.io.files.stat(ref, '/workspace');
    expect(remote.activities.map(({ operation, phase }) => `${operation} ${phase}`)).toEqual([
      'exec began',
      'exec ended',
      'files began',
      'files ended',
    ]);
    expect(remote.activities[0]!.ref).toEqual(ref);
  });

  it('an activity that is refused does not begin, and says why', async () => {
    remote.refusal.error = new HangarError('conflict', 'The session is being suspended.');
    const refused = { code: 'conflict', message: 'The session is being suspended.' };
    await expect(remote.io.files.stat(ref, '/')).rejects.toMatchObject(refused);
    await expect(remote.io.exec(ref, { argv: ['true'] })).rejects.toMatchObject(refused);
    const size = { cols: 80, rows: 24 };
    const terminal = remote.io.terminals.open(ref, 'trm-1', { argv: ['sh'], ...size });
    await expect(terminal).rejects.toMatchObject(refused);
    const view = remote.io.terminals.attach(ref, 'trm-1', { from: 0, size });
    await expect(view).rejects.toMatchObject(refused);
    expect(await remote.io.terminals.list(ref)).toEqual([]);
    const quiet = await remote.io.exec(ref, { argv: ['true'], quiet: true });
    expect(await quiet.exit).toEqual({ kind: 'exited', code: 0 });
    delete remote.refusal.error;
  });

  it('a lost connection is an exit of its own kind, and the next call connects again', async () => {
    const exec = await remote.io.exec(ref, { argv: ['sh', '-c', 'echo up; exec sleep 8001'] });
    const lines = exec.stdout[Symbol.asyncIterator]();
    expect(String((await lines.next()).value)).toBe('up\n');
    const argv = ['sh', '-c', 'echo first; read line; echo "$line"'];
    await remote.io.runs.start(ref, 'run-1', { argv, cwd: '/workspace', envVars: {} });
    const run = await remote.io.runs.follow(ref, 'run-1', { out: 0, err: 0 });
    const size = { cols: 80, rows: 24 };
    await remote.io.terminals.open(ref, 'trm-1', { argv: ['cat'], ...size });
    const view = await remote.io.terminals.attach(ref, 'trm-1', { from: 0, size });
    remote.cutConnections();
    exec.stderr.resume();
    run.stdout.resume();
    run.stderr.resume();
    expect(await exec.exit).toEqual({ kind: 'connection_lost' });
    expect(await run.exit).toEqual({ kind: 'connection_lost' });
    view.output.resume();
    expect(await view.exit).toEqual({ kind: 'connection_lost' });

    const again = await remote.io.runs.follow(ref, 'run-1', { out: 6, err: 0 });
    await remote.io.runs.input(ref, 'run-1', 'k', Buffer.from('second\n'));
    again.stderr.resume();
    expect(await text(again.stdout)).toBe('second\n');
    expect(await again.exit).toEqual({ kind: 'exited', code: 0 });
    const left = await remote.io.exec(ref, { argv: ['pgrep', '-f', '^sleep 8001'] });
    expect(await text(left.stdout)).toBe('');

    const same = await remote.io.terminals.attach(ref, 'trm-1', { from: 0, size });
    await same.write(Buffer.from('still there\n\u0004'));
    expect(await text(same.output)).toBe('still there\r\n'.repeat(2));
    expect(await same.exit).toEqual({ kind: 'exited', code: 0 });
  });

  it('a server that is not there is unavailable, or a lost connection', async () => {
    const io = createRemoteSandboxIo({ url: 'http://127.0.0.1:9', token: TOKEN });
    await expect(io.files.stat(ref, '/')).rejects.toMatchObject({ code: 'unavailable' });
    const exec = await io.exec(ref, { argv: ['true'] });
    expect(await exec.exit).toEqual({ kind: 'connection_lost' });
    io.close();
  });
});
