import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  bytes,
  startFakeServer,
  stream,
  type Answer,
  type FakeServer,
} from '../testing/fake-server.ts';
import { runCommand, type Ran, type RunSetting } from '../testing/run-command.ts';
import { checkpoint, environment, event, session } from '../testing/sample-documents.ts';
import { nameInRecipe } from './env/apply.ts';

let server: FakeServer | null = null;
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'hangar-cli-'));
});
afterEach(async () => {
  await server?.close();
  rmSync(cwd, { recursive: true });
});

async function run(
  argv: string[],
  routes: Record<string, Answer>,
  setting: RunSetting = {},
): Promise<Ran> {
  await server?.close();
  server = await startFakeServer(routes);
  return runCommand(argv, { url: server.url, cwd, ...setting });
}
const body = (): unknown => JSON.parse(server?.asked.at(-1)?.body ?? 'null');

describe('secret set', () => {
  const routes = { 'POST /api/secrets': { name: 'A', version: 1, updated_at: '' } };

  it.each([
    ['value\n', 'value'],
    ['value\r\n', 'value'],
    ['two\nlines\n\n', 'two\nlines\n'],
    ['value', 'value'],
  ])('reads %j as %j', async (stdin, value) => {
    await run(['secret', 'set', 'A'], routes, { stdin });
    expect(body()).toEqual({ name: 'A', value });
  });

  it('takes a variable', async () => {
    await run(['secret', 'set', 'A', '--from-env', 'V'], routes, { env: { V: ' v ' } });
    expect(body()).toEqual({ name: 'A', value: ' v ' });
  });

  it('asks a person', async () => {
    const ran = await run(['secret', 'set', 'A'], routes, { tty: true, answer: 'typed' });
    expect(ran.questions).toEqual(['Value of A: ']);
    expect(body()).toEqual({ name: 'A', value: 'typed' });
  });

  it.each([
    [['A', 'value'], {}, /Too many arguments/],
    [['A'], { stdin: '\n' }, /empty/],
    [['A', '--from-env', 'MISSING'], {}, /not set/],
  ] as [string[], RunSetting, RegExp][])('refuses %j', async (words, setting, what) => {
    const ran = await run(['secret', 'set', ...words], routes, setting);
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(what);
    expect(server?.asked).toEqual([]);
  });

  it('refuses what is not text', async () => {
    const ran = await run(['secret', 'set', 'A'], routes, { stdin: Uint8Array.of(0xff, 0xfe) });
    expect(ran.err).toMatch(/not UTF-8/);
    expect(server?.asked).toEqual([]);
  });
});

describe('session send', () => {
  const routes = {
    'POST /api/sessions/s/send': {
      message_id: 'msg-1',
      status: 'delivered',
      mode: 'auto',
      becomes: null,
      turn: 4,
    },
  };

  it('reads the message from stdin for - and in a pipe', async () => {
    for (const argv of [
      ['session', 'send', 's', '-'],
      ['session', 'send', 's'],
    ]) {
      const ran = await run(argv, routes, { stdin: 'line one\nline two\n' });
      expect(body()).toEqual({ message: 'line one\nline two', mode: 'auto' });
      expect(ran.out).toBe('msg-1\tdelivered\t4\t\n');
    }
  });

  it.each([
    ['turn', 'starts a turn (turn 4)'],
    ['steer', 'steers the running turn'],
    ['queue', 'waits for its turn'],
    ['resume', 'waits: the session starts its sandbox first'],
  ])('says that %s is what becomes of it [M3]', async (becomes, text) => {
    const receipt = { message_id: 'msg-1', status: 'queued', mode: 'auto', becomes };
    const answer = { ...receipt, ...(becomes === 'turn' ? { turn: 4 } : {}) };
    const ran = await run(
      ['session', 'send', 's', 'x'],
      { 'POST /api/sessions/s/send': answer },
      { tty: true },
    );
    expect(ran.out).toBe(`message msg-1 ${text}\n`);
  });

  it('needs a message', async () => {
    const ran = await run(['session', 'send', 's'], routes, { tty: true });
    expect(ran).toMatchObject({ code: 2 });
  });
});

describe('session exec', () => {
  const result = (over: object) => ({
    'POST /api/sessions/s/exec': { stdout_truncated: false, stderr_truncated: false, ...over },
  });
  const EXEC = ['session', 'exec', 's', '--', 'x'];

  it.each([
    [{ exit_code: 0 }, 0],
    [{ exit_code: 42 }, 42],
    [{ signal: 'SIGKILL' }, 1],
    [{ timed_out: true }, 124],
  ])('ending with %j has the exit code %i', async (over, code) => {
    expect((await run(EXEC, result(over))).code).toBe(code);
  });

  it('hands bytes through, both ways', async () => {
    const ran = await run(
      ['session', 'exec', 's', '-i', 'cat'],
      result({ exit_code: 0, stdout_base64: 'w6QK' }),
      {
        stdin: 'ü',
      },
    );
    expect(ran.out).toBe('ä\n');
    expect(body()).toEqual({ argv: ['cat'], stdin_base64: 'w7w=' });
  });

  it('says that output was cut', async () => {
    expect((await run(EXEC, result({ exit_code: 0, stdout_truncated: true }))).err).toMatch(
      /was cut/,
    );
  });
});

describe('env apply', () => {
  it.each([
    ['name: web', 'web'],
    ['# x\nimage: y\nname:   web-2  # mine\n', 'web-2'],
    ['"name": "web"\n', 'web'],
    ["name: 'web'", 'web'],
    ['{"repo": "x", "name": "web"}', 'web'],
    ['{name: web, env: {A: b}}', 'web'],
    ['- name\n', null],
    ['', null],
    ['env:\n  name: inner\n', null],
    ['name:\n', null],
    ['{"name": 3}', null],
  ])('finds in %j the name %j', (text, name) => expect(nameInRecipe(text)).toBe(name));

  it('sends the file as it is, and a name given before it', async () => {
    writeFileSync(join(cwd, 'web.yaml'), 'repo: /srv/web\n');
    const routes = { 'PUT /api/environments/other': environment };
    await run(['env', 'apply', 'other', '-f', 'web.yaml'], routes);
    expect(server?.asked[0]).toMatchObject({ body: 'repo: /srv/web\n' });
    expect(server?.asked[0]?.headers['content-type']).toBe('application/yaml');
  });

  it.each([
    [['-f', 'missing.yaml'], /cannot be read/],
    [['-f', '-'], /has no name/],
  ])('refuses %j', async (words, what) => {
    const ran = await run(['env', 'apply', ...words], {}, { stdin: 'repo: x\n' });
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(what);
  });
});

describe('checkpoint export', () => {
  const routes = {
    'GET /api/sessions/s/checkpoints': { items: [checkpoint, { ...checkpoint, id: 'ckp-1-2' }] },
    'GET /api/sessions/s/checkpoints/ckp-1-2/export': bytes('tar'),
  };

  it('writes the newest to a new file that only its owner reads', async () => {
    const ran = await run(['checkpoint', 'export', 's'], routes);
    expect(ran).toMatchObject({ code: 0, out: 'ckp-1-2.tar\tckp-1-2\t3\n' });
    const file = join(cwd, 'ckp-1-2.tar');
    expect(readFileSync(file, 'utf8')).toBe('tar');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('does not write over a file', async () => {
    writeFileSync(join(cwd, 'mine.tar'), 'precious');
    const ran = await run(['checkpoint', 'export', 's', '-o', 'mine.tar'], routes);
    expect(ran.code).toBe(2);
    expect(readFileSync(join(cwd, 'mine.tar'), 'utf8')).toBe('precious');
  });

  it('leaves nothing behind when the line breaks', async () => {
    const breaks: Answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('tar', () => response.destroy());
    };
    const route = 'GET /api/sessions/s/checkpoints/ckp-1-2/export';
    const ran = await run(['checkpoint', 'export', 's'], { ...routes, [route]: breaks });
    expect(ran.code).toBe(1);
    expect(existsSync(join(cwd, 'ckp-1-2.tar'))).toBe(false);
    expect(existsSync(join(cwd, 'ckp-1-2.tar.partial'))).toBe(false);
  });

  it('goes to a pipe, not to a screen', async () => {
    const argv = ['checkpoint', 'export', 's', 'ckp-1-2', '-o', '-'];
    expect(await run(argv, routes)).toMatchObject({ code: 0, out: 'tar' });
    expect(await run(argv, routes, { tty: true })).toMatchObject({ code: 2, out: '' });
  });
});

describe('session events', () => {
  const events = [event(1, 'SessionCreated', {}), event(2, 'SessionIdled', { reason: 'x' })];
  const routes = {
    'GET /api/sessions/s': session({ version: 1 }),
    'GET /api/sessions/ses-1a2b3c4d/events': stream(events),
    'GET /api/events': stream(events),
  };

  it('ends at the newest', async () => {
    const ran = await run(['session', 'events', 's', '--json'], routes);
    expect(ran.out.trim().split('\n')).toHaveLength(1);
    expect(server?.asked.at(-1)?.headers['last-event-id']).toBe('0');
  });

  it.each([['s'], []])('follows %j until Ctrl-C, which is no failure', async (...words) => {
    const argv = ['session', 'events', ...words, '--follow'];
    const ran = await run(argv, routes, {
      onStdout: (text, pressCtrlC) => {
        if (text.includes('SessionIdled')) pressCtrlC();
      },
    });
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out.trim().split('\n')).toHaveLength(2);
  });

  it('of all have no end', async () => {
    expect((await run(['session', 'events'], routes)).code).toBe(2);
  });
});
