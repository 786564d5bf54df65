import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { startFakeServer, stream, type Answer, type FakeServer } from './testing/fake-server.ts';
import { event, session, summary } from './testing/sample-documents.ts';

/** Each start compiles the program anew, which takes seconds on a busy machine. */
jest.setTimeout(120_000);

let server: FakeServer;
const servers: FakeServer[] = [];
afterEach(async () => {
  for (const one of servers.splice(0)) await one.close();
});

const MAIN = join(import.meta.dirname, 'main.ts');

/** The real program, from its sources, with pipes. */
async function start(argv: string[], routes: Record<string, Answer>): Promise<ChildProcess> {
  server = await startFakeServer(routes);
  servers.push(server);
  const flags = ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'];
  return spawn(process.execPath, [...flags, MAIN, ...argv], {
    env: { PATH: process.env['PATH'], HANGAR_URL: server.url, HANGAR_TOKEN: 'key' },
    stdio: 'pipe',
  });
}

async function finish(
  child: ChildProcess,
): Promise<{ code: number | null; out: string; err: string }> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (piece: Buffer) => out.push(piece));
  child.stderr?.on('data', (piece: Buffer) => err.push(piece));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

const list = (count: number): Record<string, Answer> => ({
  'GET /api/sessions': { items: Array.from({ length: count }, () => summary()), next_cursor: null },
});

describe('the program', () => {
  it('prints, ends by itself and has its exit code', async () => {
    const { code, out, err } = await finish(await start(['session', 'list'], list(1)));
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\t').slice(0, 3)).toEqual(['ses-1a2b3c4d', 'csv-fix', 'IDLE']);
    expect((await finish(await start(['session', 'list', '--nope'], {}))).code).toBe(2);
    expect((await finish(await start(['session', 'get', 'x'], {}))).code).toBe(1);
  });

  it('writes all of a long answer into a pipe', async () => {
    const { out } = await finish(await start(['session', 'list', '--limit', '5000'], list(5000)));
    expect(out.trimEnd().split('\n')).toHaveLength(5000);
  });

  it('is content when its reader leaves', async () => {
    const child = await start(['session', 'list', '--limit', '5000'], list(5000));
    child.stdout?.once('data', () => child.stdout?.destroy());
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(0);
  });

  it('reads stdin', async () => {
    const receipt = { message_id: 'msg-1', status: 'queued', mode: 'auto' };
    const child = await start(['session', 'send', 's'], { 'POST /api/sessions/s/send': receipt });
    child.stdin?.end('from a pipe\n');
    expect((await finish(child)).code).toBe(0);
    expect(JSON.parse(server.asked[0]?.body ?? '')).toMatchObject({ message: 'from a pipe' });
  });

  it('stops waiting at SIGINT with 2, and says that the work goes on', async () => {
    const child = await start(['session', 'open', 'csv-fix', '--wait'], {
      'GET /api/sessions/csv-fix': session({ state: 'SUSPENDED' }),
      'POST /api/sessions/csv-fix/open': session({ state: 'RESUMING', version: 11 }),
      'GET /api/sessions/ses-1a2b3c4d': session({ state: 'RESUMING', version: 11 }),
      'GET /api/sessions/ses-1a2b3c4d/events': stream([
        event(11, 'SandboxRequested', { purpose: 'resume', environment: 'web' }),
      ]),
    });
    child.stderr?.once('data', () => child.kill('SIGINT'));
    const { code, err } = await finish(child);
    expect(code).toBe(2);
    expect(err).toMatch(/kept: +The work goes on/);
  });

  it('serves an agent over its pipes, and ends with its input', async () => {
    const result = { jsonrpc: '2.0', id: 1, result: { tools: [] } };
    const child = await start(['mcp'], { 'POST /mcp': result });
    child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    expect(JSON.parse(line.toString())).toEqual(result);
    child.stdin?.end();
    expect((await finish(child)).code).toBe(0);
  });

  it('stops a call that hangs at SIGINT', async () => {
    let arrived: () => void;
    const called = new Promise<void>((resolve) => (arrived = resolve));
    const child = await start(['session', 'list'], { 'GET /api/sessions': () => arrived() });
    const ended = finish(child);
    await called;
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 2, out: '' });
  });
});
