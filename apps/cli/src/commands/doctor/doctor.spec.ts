import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createHangarClient } from '@hangar/client';
import type { Connection } from '../../connection.ts';
import { document, problem, startFakeServer, type Answer } from '../../testing/fake-server.ts';
import { NOW, runCommand } from '../../testing/run-command.ts';
import { VERSION } from '../../version.ts';
import type { Check } from './check.ts';
import {
  checkBubblewrap,
  checkDisk,
  checkGit,
  checkNatsServer,
  checkNode,
} from './machine-checks.ts';
import { runProgram, type ProgramResult } from './run-program.ts';
import { checkServer } from './server-checks.ts';

const gives = (over: Partial<ProgramResult>) => () =>
  Promise.resolve({ code: 0, missing: false, text: '', ...over });

describe('the machine', () => {
  it.each([
    ['v24.1.0', 'ok'],
    ['v20.20.2', 'fail'],
    ['odd', 'fail'],
  ])('with node %s is %s', (version, result) => expect(checkNode(version).result).toBe(result));

  it('says which programs are there, and how to get those that are not', async () => {
    expect(await checkGit(gives({ text: 'git version 2.39' }))).toMatchObject({
      result: 'ok',
      detail: 'git version 2.39',
    });
    const gone = gives({ code: null, missing: true });
    expect(await checkGit(gone)).toMatchObject({ result: 'fail' });
    expect(await checkNatsServer(gone)).toMatchObject({ result: 'warn' });
    expect(await checkBubblewrap(gone)).toMatchObject({
      result: 'warn',
      fix: expect.stringMatching(/Install bubblewrap/),
    });
  });

  it.each([
    ['bwrap: setting up uid map: Permission denied', /user namespaces/],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not supported", /proc/],
    ['bwrap: something new', /Run bwrap/],
  ])('that cannot isolate because of "%s" gets told why', async (text, fix) => {
    const check = await checkBubblewrap(gives({ code: 1, text }));
    expect(check.result).toBe('warn');
    expect(check.detail).toMatch(/NOT isolated/);
    expect(check.detail).toContain(text);
    expect(check.fix).toMatch(fix);
  });

  it('has room, also where the directory is not there yet', async () => {
    const check = await checkDisk(join(import.meta.dirname, 'not/there/yet'));
    expect(check.detail).toContain(`free in ${import.meta.dirname}`);
  });

  it('is asked by running programs, for a bounded time', async () => {
    expect(await runProgram('/does/not/exist', [])).toMatchObject({ code: null, missing: true });
    expect(await runProgram(process.execPath, ['-e', 'process.exit(3)'])).toMatchObject({
      code: 3,
    });
  });
});

const connection = (over: Partial<Connection> = {}): Connection => ({
  url: '',
  token: 'key',
  tokenSource: 'HANGAR_TOKEN',
  tokenIsOpen: false,
  stateDirectory: '/nowhere',
  ...over,
});

const well: Record<string, Answer> = {
  'GET /api/openapi.json': { info: { version: '1' } },
  'GET /health/ready': { status: 'ok', details: { postgres: { status: 'up' } } },
  'GET /api/who': { token_id: 'tok-1', owner: 'sean', scopes: ['write', 'read'] },
};

async function ask(
  routes: Record<string, Answer>,
  over: Partial<Connection> = {},
  now = NOW,
): Promise<Record<string, Check>> {
  const server = await startFakeServer(routes);
  const checks = await checkServer({
    client: createHangarClient({ url: server.url, token: 'key', retryMs: 1 }),
    connection: connection({ url: server.url, ...over }),
    now: () => now,
  });
  await server.close();
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

describe('the server', () => {
  it('is well', async () => {
    const checks = await ask(well);
    expect(Object.values(checks).map(({ result }) => result)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(checks['token']?.detail).toBe('sean (write, read), from HANGAR_TOKEN');
  });

  it('is not there', async () => {
    const server = await startFakeServer({});
    await server.close();
    const [check] = await checkServer({
      client: createHangarClient({ url: server.url, retryMs: 1 }),
      connection: connection({ url: server.url }),
      now: () => NOW,
    });
    expect(check).toMatchObject({ name: 'server', result: 'fail' });
    expect(check?.fix).toMatch(/npm start/);
  });

  it('is of another version', async () => {
    const checks = await ask({ ...well, 'GET /api/openapi.json': { info: { version: '2' } } });
    expect(checks['server']).toMatchObject({ result: 'fail', detail: expect.stringMatching(/2$/) });
  });

  it('names the part that is down', async () => {
    const down = { details: { nats: { status: 'down', message: 'closed' } } };
    const checks = await ask({ ...well, 'GET /health/ready': document(503, down) });
    expect(checks['ready: nats']).toMatchObject({ result: 'fail', detail: 'closed' });
  });

  it.each([
    [60_000, 'warn', /1 min behind/],
    [-60_000, 'warn', /1 min ahead/],
    [3_000, 'ok', /the same/],
  ])('with a clock %i ms off is %s', async (ms, result, detail) => {
    const checks = await ask(well, {}, new Date(NOW.getTime() + ms));
    expect(checks['clock']?.result).toBe(result);
    expect(checks['clock']?.detail).toMatch(detail);
  });

  it('does not know the token, or there is none, or others can read it', async () => {
    const refused = { ...well, 'GET /api/who': problem(401, 'unauthenticated', 'No.') };
    expect((await ask(refused))['token']).toMatchObject({ result: 'fail' });
    const none = { token: undefined, tokenSource: 'none: no file' };
    expect((await ask(well, none))['token']).toMatchObject({
      result: 'fail',
      detail: 'none: no file',
    });
    const open = { tokenIsOpen: true, tokenSource: '/s/token' };
    expect((await ask(well, open))['token']).toMatchObject({
      result: 'warn',
      fix: 'chmod 600 /s/token',
    });
  });
});

describe('hangar doctor', () => {
  it('ends with 1 when something fails, and prints what, for people and programs', async () => {
    const server = await startFakeServer({
      ...well,
      'GET /api/who': problem(401, 'unauthenticated', 'No.'),
    });
    const text = await runCommand(['doctor'], { url: server.url, tty: true });
    const json = await runCommand(['doctor', '--json'], { url: server.url });
    await server.close();
    expect([text.code, json.code]).toEqual([1, 1]);
    expect(text.out).toMatch(/^fail {2}token.*\n +-> The server does not know the token/m);
    const report = JSON.parse(json.out) as { ok: boolean; checks: Check[] };
    expect(report.ok).toBe(false);
    expect(report.checks.map(({ name }) => name)).toEqual([
      'node',
      'git',
      'bwrap',
      'nats-server',
      'disk',
      'server',
      'clock',
      'ready: postgres',
      'token',
    ]);
  });
});

describe('the version', () => {
  it('is the one of the package', () => {
    const path = join(import.meta.dirname, '../../../package.json');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ version: VERSION });
  });
});
