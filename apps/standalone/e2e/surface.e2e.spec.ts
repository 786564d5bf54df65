import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import type { CheckpointDocument } from '@hangar/contracts';
import { SHAPE, System } from './system.ts';
import {
  TEST_MS_MAX,
  WAIT_SECONDS,
  defineEnvironment,
  openWorkplace,
  shell,
  until,
  type Workplace,
} from './workplace.ts';

/** One of everything that a person leaves behind: committed, staged, unstaged, untracked. */
const DIRTY =
  'echo two >b.txt && git add b.txt && git commit -qm second && echo staged >s.txt && ' +
  'git add s.txt && echo changed >>a.txt && echo loose >u.txt';
const LOOK =
  'git log --format=%s; git status --porcelain=v1; git diff; git diff --cached; cat u.txt';

/** None is the default. */
const SETTINGS = {
  HANGAR_SESSION_CHECKPOINT_MINUTES: '11',
  HANGAR_SESSION_KEEP_CHECKPOINTS: '7',
  HANGAR_SANDBOX_TTL_MINUTES: '77',
  HANGAR_TURN_MINUTES: '44',
};

jest.setTimeout(TEST_MS_MAX);

describe(`every route, as a person goes through them (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start({ envVars: SETTINGS });
    client = system.client();
  });

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  });

  /** One request without the client: the status and the body as they came. */
  const http = async (
    method: string,
    path: string,
    body?: unknown,
    token = system.token,
  ): Promise<{ status: number; type: string; json: Record<string, unknown> }> => {
    const answer = await fetch(system.url + path, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const type = answer.headers.get('content-type') ?? '';
    const json = type.includes('json') ? (JSON.parse(text) as Record<string, unknown>) : {};
    return { status: answer.status, type, json };
  };

  it('health and the OpenAPI document need no token, everything else does', async () => {
    expect((await http('GET', '/health/live', undefined, '')).status).toBe(200);
    expect((await http('GET', '/health/ready', undefined, '')).status).toBe(200);
    const { json } = await http('GET', '/api/openapi.json', undefined, '');
    expect(json['openapi']).toMatch(/^3\.1/);
    const paths = Object.entries(json['paths'] as Record<string, object>).flatMap(([path, of]) =>
      Object.keys(of).map((method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x')]),
    );
    expect(paths.length).toBeGreaterThan(30);
    for (const [method = '', path = ''] of paths.filter(([, p]) => p !== '/api/openapi.json')) {
      if (path.startsWith('/health')) continue;
      const answer = await http(method, path, undefined, '');
      expect([path, answer.status, answer.json['code']]).toEqual([path, 401, 'unauthenticated']);
      expect(answer.type).toContain('application/problem+json');
      expect(answer.json['hint']).toBeTruthy();
    }
  });

  it('environments are made, changed by a new version, listed and deleted', async () => {
    const made = await http('POST', '/api/environments', { name: 'spare', setup: ['true'] });
    expect([made.status, made.json['version']]).toEqual([201, 1]);
    const same = await http('POST', '/api/environments', { name: 'spare', setup: ['true'] });
    expect([same.status, same.json['version']]).toEqual([200, 1]);
    const put = await client.environments.applyYaml('spare', 'setup: ["echo hi"]\nnetwork: none\n');
    expect(put).toMatchObject({ name: 'spare', version: 2, recipe: { network: 'none' } });
    expect(await client.environments.get('spare')).toEqual(put);
    expect((await client.environments.list()).items.map(({ name }) => name)).toContain('spare');
    await client.environments.delete('spare');
    expect((await http('GET', '/api/environments/spare')).status).toBe(404);
    const wrong = await http('PUT', '/api/environments/spare', { network: 'some' });
    expect([wrong.status, wrong.json['code']]).toEqual([400, 'invalid']);
    await defineEnvironment(client, work);
  });

  it('secrets are written and listed, and never read', async () => {
    const made = await http('POST', '/api/secrets', { name: 'NPM_TOKEN', value: 'hush-hush' });
    expect(made.status).toBe(201);
    expect(JSON.stringify(made.json)).not.toContain('hush');
    expect((await client.secrets.list()).items).toMatchObject([{ name: 'NPM_TOKEN', version: 1 }]);
    await client.secrets.set({ name: 'NPM_TOKEN', value: 'hush-again' });
    expect((await client.secrets.list()).items).toMatchObject([{ version: 2 }]);
    await client.secrets.delete('NPM_TOKEN');
    expect((await client.secrets.list()).items).toEqual([]);
  });

  it('limits can be read before anything starts', async () => {
    const { limits } = await client.limits.get({ environment: 'default', harness: 'fake' });
    const of = Object.fromEntries(limits.map((limit) => [limit.name, limit]));
    expect(of['messages_queued']).toMatchObject({ value: 32 });
    expect(limits.every(({ unit, does }) => unit !== '' && does !== '')).toBe(true);
    const shown = Object.keys(SETTINGS).map((name) => [
      name,
      String(limits.find(({ changed_by }) => changed_by?.includes(name))?.value),
    ]);
    expect(Object.fromEntries(shown)).toEqual(SETTINGS);
    const wrong = await http('GET', '/api/limits?environment=none-such');
    expect([wrong.status, wrong.json['code']]).toEqual([404, 'not_found']);
  });

  it('limits that were set reach every service [S8]', async () => {
    const { id } = await client.sessions.create(
      { name: 'bounded', environment: 'default', harness: 'fake' },
      { waitSeconds: WAIT_SECONDS },
    );
    const [row] = await system.sql(`select
      (select data->>'turn_minutes' from es.event where stream_id = 'session/${id}' and version = 1)
        as turn,
      (select data->>'checkpoints_kept_max' from es.event where stream_id = 'session/${id}'
        and version = 1) as kept,
      (select round(extract(epoch from (data->>'expires_at')::timestamptz - at) / 60)::text
        from es.event where type = 'SandboxReady' and data->>'session_id' = '${id}') as ttl,
      (select round(extract(epoch from t.due_at - e.at) / 60)::text from es.timer t, es.event e
        where t.stream_id = 'session/${id}' and t.kind = 'session.interval'
          and e.stream_id = t.stream_id and e.type = 'SandboxAttached') as checkpoint`);
    expect(row).toEqual({ turn: '44', kept: '7', ttl: '77', checkpoint: '11' });
    await client.sessions.archive(id);
  });

  it('a session is made, found by name and id, renamed, and keeps its branch', async () => {
    const created = await client.sessions.create(
      { name: 'walk', environment: 'default', harness: 'fake', repo: work.repo, title: 'A walk' },
      { waitSeconds: WAIT_SECONDS },
    );
    expect(created).toMatchObject({
      state: 'IDLE',
      name: 'walk',
      branch: 'hangar/session/walk',
      cwd: '/workspace/app',
      turns: [],
      checkpoints: [],
      queue: [],
      attention: [],
    });
    expect(created.id).toMatch(/^ses-[0-9a-f]{8}$/);
    expect((await client.sessions.get(created.id)).name).toBe('walk');
    const taken = await http('POST', '/api/sessions', {
      name: 'walk',
      environment: 'default',
      harness: 'fake',
    });
    expect([taken.status, taken.json['code']]).toEqual([409, 'conflict']);
    expect((await client.sessions.list({ state: 'IDLE', q: 'wal' })).items).toMatchObject([
      { id: created.id, turn_count: 0 },
    ]);
    const renamed = await client.sessions.rename('walk', { name: 'hike', title: 'A hike' });
    expect(renamed).toMatchObject({
      name: 'hike',
      title: 'A hike',
      branch: 'hangar/session/walk',
      cwd: '/workspace/app',
    });
    expect((await http('GET', '/api/sessions/walk')).status).toBe(404);
    expect(await client.sessions.keep('hike', 7)).toMatchObject({ idle_minutes: 7 });
  });

  it('exec gives exit codes, signals, both outputs, bytes, and takes stdin', async () => {
    const exec = (argv: string[], more: object = {}) =>
      client.sandboxes.exec('hike', { argv, ...more });
    expect(await exec(['sh', '-c', 'echo out; echo err >&2; exit 7'])).toEqual({
      exit_code: 7,
      stdout: 'out\n',
      stdout_truncated: false,
      stderr: 'err\n',
      stderr_truncated: false,
    });
    const bytes = await exec(['printf', '\\377\\000\\200']);
    expect(bytes).toMatchObject({ exit_code: 0, stdout_base64: '/wCA', stderr: '' });
    expect(bytes).not.toHaveProperty('stdout');
    expect(await exec(['cat'], { stdin: 'héllo' })).toMatchObject({ stdout: 'héllo' });
    expect(await exec(['cat'], { stdin_base64: '/wCA' })).toMatchObject({
      stdout_base64: '/wCA',
    });
    expect(await exec(['pwd'], { cwd: '/tmp' })).toMatchObject({ stdout: '/tmp\n' });
    expect(await exec(['sh', '-c', 'kill -9 $$'])).toMatchObject({ signal: 'SIGKILL' });
    const slow = await exec(['sh', '-c', 'echo begun; sleep 60'], { timeout_seconds: 1 });
    expect(slow).toMatchObject({ timed_out: true, stdout: 'begun\n' });
    const none = await http('POST', '/api/sessions/hike/exec', { argv: ['no-such-program'] });
    expect([none.status, none.json['code']]).toEqual([400, 'invalid']);
    const large = await exec(['head', '-c', String(5 * 1024 * 1024), '/dev/zero']);
    expect(large.stdout_truncated).toBe(true);
    expect(large.stdout).toHaveLength(4 * 1024 * 1024);
  });

  it('changes name what is committed, staged, unstaged and untracked', async () => {
    await shell(client, 'hike', DIRTY);
    const { files, source } = await client.sandboxes.changes('hike');
    expect(source).toBe('sandbox');
    const areas = files.map(({ path, area, status }) => `${path} ${area} ${status}`);
    expect(areas.toSorted()).toEqual([
      'a.txt unstaged modified',
      'b.txt committed added',
      's.txt staged added',
      'u.txt untracked added',
    ]);
    expect(files.find(({ path }) => path === 'a.txt')?.diff).toContain('+changed');
  });

  it('a checkpoint is taken, listed and exported, and restored by hand with git and tar', async () => {
    const taken = await client.checkpoints.take('hike', { waitSeconds: WAIT_SECONDS });
    expect(taken.waited).toBe(true);
    const { items } = await client.checkpoints.list('hike');
    expect(items).toMatchObject([{ reason: 'manual', complete: true, skipped: [] }]);
    const before = await shell(client, 'hike', LOOK);
    const directory = mkdtempSync(join(tmpdir(), 'hangar-by-hand-'));
    try {
      const parts = await exportParts(client, 'hike', items[0] as CheckpointDocument, directory);
      expect(restoreByHand(work.repo, parts, directory)).toBe(before);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('suspend, changes of the checkpoint, and open: the same tree', async () => {
    const before = await shell(client, 'hike', LOOK);
    const suspended = await client.sessions.suspend('hike', {}, { waitSeconds: WAIT_SECONDS });
    expect(suspended).toMatchObject({ state: 'SUSPENDED', sandbox_id: null });
    const changes = await client.sandboxes.changes('hike');
    expect([changes.source, changes.files.length]).toEqual(['checkpoint', 4]);
    const refused = await http('POST', '/api/sessions/hike/exec', { argv: ['true'] });
    expect([refused.status, refused.json['code']]).toEqual([409, 'conflict']);
    expect(refused.json['hint']).toContain('pen it');
    await client.sessions.open('hike', { waitSeconds: WAIT_SECONDS });
    expect(await shell(client, 'hike', LOOK)).toBe(before);
  });

  it('interrupt keeps the work of the turn, and the next turn has the conversation', async () => {
    const script = 'remember [[ run: echo half >half.txt ;; say: begun ;; hang ]]';
    await client.sessions.send('hike', { message: script });
    await until('the turn has begun', async () => {
      const done = await client.sandboxes.exec('hike', { argv: ['test', '-s', 'half.txt'] });
      return done.exit_code === 0;
    });
    const stopped = await client.sessions.interrupt('hike', { waitSeconds: WAIT_SECONDS });
    expect(stopped).toMatchObject({ state: 'IDLE', turns: [{ outcome: 'cancelled' }] });
    expect(await shell(client, 'hike', 'cat half.txt')).toBe('half\n');
    const next = await client.sessions.sendAndWait(
      'hike',
      { message: '[[ echo ]]' },
      { waitSeconds: WAIT_SECONDS },
    );
    expect(next.turns.at(-1)?.summary).toContain('I was sent 2 user');
    const nothing = await http('POST', '/api/sessions/hike/interrupt', {});
    expect([nothing.status, nothing.json['code']]).toEqual([409, 'conflict']);
    for (const verb of ['retry', 'continue'])
      expect((await http('POST', `/api/sessions/hike/${verb}`, {})).status).toBe(409);
  });

  it('the audit trail lists, exports and replays the session', async () => {
    const { items } = await client.audit.list({ session: 'hike', type: 'TurnFinished' });
    expect(items).toHaveLength(2);
    const lines = await new Response(await client.audit.export({ session: 'hike' })).text();
    const types = lines
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(expect.arrayContaining(['SessionCreated', 'SandboxReady', 'RunStarted']));
    const replayed = await client.audit.replay({ session: 'hike', version: 1 });
    expect(replayed).toMatchObject({ name: 'walk', turns: [] });
    const now = await client.sessions.get('hike');
    expect(await client.audit.replay({ session: 'hike' })).toEqual(now);
    expect(await client.audit.verify({ session: 'hike' })).toEqual({ ok: true, problems: [] });
  });

  it('archive drops the checkpoints and frees the name; the record stays', async () => {
    const id = (await client.sessions.get('hike')).id;
    const archived = await client.sessions.archive('hike');
    expect(archived).toMatchObject({ state: 'ARCHIVED', checkpoints: [] });
    expect(archived.turns).toHaveLength(2);
    await until('its blobs are gone', async () => blobsOf(system, id).length === 0);
    await until('its sandbox is gone', async () => sandboxesOf(system, id).length === 0);
    const refused = await http('POST', `/api/sessions/${id}/send`, { message: 'hello' });
    expect([refused.status, refused.json['code']]).toEqual([409, 'conflict']);
    const next = await client.sessions.create(
      { name: 'hike', environment: 'default', harness: 'fake', message: '[[ say: anew ]]' },
      { waitSeconds: WAIT_SECONDS },
    );
    expect(next.id).not.toBe(id);
    expect((await client.sessions.get('hike')).id).toBe(next.id);
    await client.sessions.delete(id);
    expect((await http('GET', `/api/sessions/${id}`)).status).toBe(404);
  });

  it('delete removes the session, its sandbox and its blobs; who did it stays on record', async () => {
    const { id } = await client.sessions.get('hike');
    expect(blobsOf(system, id).length).toBeGreaterThan(0);
    await client.sessions.delete('hike');
    expect((await http('GET', `/api/sessions/${id}`)).status).toBe(404);
    await until('its blobs are gone', async () => blobsOf(system, id).length === 0);
    await until('its sandbox is gone', async () => sandboxesOf(system, id).length === 0);
    const { items } = await client.audit.list({ session: id, type: 'SessionDeleted' });
    expect(items).toMatchObject([{ type: 'SessionDeleted', session_id: id }]);
    const left = (await client.sessions.list()).items.map(({ name }) => name);
    expect(left).not.toContain('hike');
  });
});

function blobsOf(system: System, sessionId: string): string[] {
  const all = readdirSync(join(system.state, 'blobs'), { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile() && entry.parentPath.includes(sessionId))
    .map((entry) => join(entry.parentPath, entry.name));
}

function sandboxesOf(system: System, sessionId: string): string[] {
  const number = sessionId.slice('ses-'.length);
  return readdirSync(join(system.state, 'sandboxes')).filter((name) =>
    name.startsWith(`sbx-${number}-`),
  );
}

/** Unpacks the export; what it holds is what the checkpoint says, byte for byte. */
async function exportParts(
  client: HangarClient,
  ref: string,
  checkpoint: CheckpointDocument,
  directory: string,
): Promise<string> {
  const tar = join(directory, 'export.tar');
  const stream = await client.checkpoints.export(ref, checkpoint.id);
  writeFileSync(tar, Buffer.from(await new Response(stream).arrayBuffer()));
  execFileSync('tar', ['-xf', tar, '-C', directory]);
  const parts = join(directory, checkpoint.id);
  for (const { name, sha256 } of checkpoint.parts.filter((part) => part.name !== 'base.pack')) {
    const sum = execFileSync('sha256sum', [join(parts, name)], { encoding: 'utf8' });
    expect([name, sum.slice(0, 64)]).toEqual([name, sha256]);
  }
  return parts;
}

/** The commands of docs/formats/checkpoint.md, `By hand`, and then what `LOOK` shows. */
function restoreByHand(repo: string, parts: string, directory: string): string {
  const { head_ref, head } = JSON.parse(readFileSync(join(parts, 'meta.json'), 'utf8')) as {
    head_ref: string;
    head: string;
  };
  const script = `set -eu
    git clone -q ${repo} clone && cd clone
    for id in $(sed -n '/^$/q;s/^-\\([0-9a-f]*\\).*/\\1/p' $P/repo.bundle); do
      git cat-file -e $id || git fetch -q --depth=1 origin $id
    done
    git fetch -q $P/repo.bundle '+refs/hangar/*:refs/hangar/*'
    git read-tree --reset -u refs/hangar/worktree
    git clean -ffdq
    tar -xzf $P/untracked.tgz
    git symbolic-ref HEAD ${head_ref} && git update-ref ${head_ref} ${head}
    git read-tree refs/hangar/index0 && git update-index -q --refresh || true
    mkdir home && tar -xzf $P/agent.tgz -C home && rm -r home
    ${LOOK}`;
  const env = { PATH: process.env['PATH'], P: parts, HOME: directory };
  return execFileSync('sh', ['-c', script], { cwd: directory, env, encoding: 'utf8' });
}
