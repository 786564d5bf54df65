import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createHangarClient, type HangarClient } from '@hangar/client';
import { HangarError } from '@hangar/contracts';
import { SHAPE, System } from './system.ts';
import {
  TEST_MS_MAX,
  WAIT_SECONDS,
  openWorkplace,
  sessionWhere,
  shell,
  until,
  type Workplace,
} from './workplace.ts';

/** Long and unlike anything else, so that a search for it cannot hit by chance. */
const SECRET = 'zq7-hush-4f1c9e-never-to-be-seen';

jest.setTimeout(TEST_MS_MAX);

describe(`owners, secrets, the trail, and starts that fail (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start();
    client = system.client();
    await client.environments.apply('default', { env: work.envVars });
  });

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  });

  const create = (
    name: string,
    more: object = {},
    by = client,
  ): ReturnType<HangarClient['sessions']['create']> =>
    by.sessions.create(
      { name, environment: 'default', harness: 'fake', ...more },
      { waitSeconds: WAIT_SECONDS },
    );

  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'done',
      (error: unknown) => HangarError.from(error).code,
    );

  describe('owners and scopes [Z1]', () => {
    it('an owner sees own sessions only, on every route; a scope holds those below it', async () => {
      const token = async (owner: string, scope: 'read' | 'write'): Promise<HangarClient> =>
        system.client((await client.tokens.create({ owner, scope, name: scope })).token);
      const [ada, bob, reader] = await Promise.all([
        token('ada', 'write'),
        token('bob', 'write'),
        token('ada', 'read'),
      ]);
      await ada.environments.apply('default', { env: work.envVars });
      const made = await create('mine', { message: '[[ say: hello ]]' }, ada);
      const { id } = made;
      const checkpoint = made.checkpoints[0]?.id ?? '';
      for (const ref of [id, 'mine']) {
        const calls = [
          bob.sessions.get(ref),
          bob.sessions.open(ref),
          bob.sessions.send(ref, { message: 'x' }),
          bob.sessions.takeBack(ref, 'msg-00000000'),
          bob.sessions.suspend(ref),
          bob.sessions.interrupt(ref),
          bob.sessions.retry(ref),
          bob.sessions.continue(ref),
          bob.sessions.keep(ref, 1),
          bob.sessions.rename(ref, { title: 'x' }),
          bob.sessions.archive(ref),
          bob.sessions.delete(ref),
          bob.checkpoints.list(ref),
          bob.checkpoints.take(ref),
          bob.checkpoints.export(ref, checkpoint),
          bob.sandboxes.changes(ref),
          bob.sandboxes.exec(ref, { argv: ['id'] }),
          bob.audit.list({ session: ref }),
          bob.audit.verify({ session: ref }),
          bob.audit.replay({ session: ref }),
          bob.events.session(ref, { lastEventId: '0' }).next(),
        ];
        const codes = await Promise.all(calls.map(codeOf));
        expect(codes).toEqual(codes.map(() => 'not_found'));
      }
      expect((await bob.sessions.list()).items).toEqual([]);
      const trail = (await bob.audit.list()).items;
      expect(trail.map(({ owner, session_id }) => [owner, session_id])).toEqual([['bob', null]]);
      expect(await codeOf(bob.environments.get('default'))).toBe('not_found');
      expect(await codeOf(bob.audit.list({}))).toBe('done');
      expect(await codeOf(bob.audit.verify())).toBe('forbidden');
      expect(await codeOf(bob.tokens.list())).toBe('forbidden');
      expect((await reader.sessions.get('mine')).id).toBe(id);
      expect(await codeOf(reader.sessions.send('mine', { message: 'x' }))).toBe('forbidden');
      expect(await codeOf(reader.sandboxes.exec('mine', { argv: ['id'] }))).toBe('forbidden');
      expect(await codeOf(reader.secrets.set({ name: 'A', value: 'b' }))).toBe('forbidden');
      // The same name is free for another owner.
      await bob.environments.apply('default', {});
      expect((await create('mine', {}, bob)).id).not.toBe(id);
      const stranger = createHangarClient({ url: system.url, token: 'hgr_nobody' });
      expect(await codeOf(stranger.sessions.list())).toBe('unauthenticated');
    });

    it('a revoked token is over at once', async () => {
      const made = await client.tokens.create({ owner: 'eve', scope: 'read', name: 'short' });
      const eve = system.client(made.token);
      expect(await eve.server.who()).toMatchObject({ owner: 'eve', scopes: ['read'] });
      await client.tokens.revoke(made.id);
      expect(await codeOf(eve.server.who())).toBe('unauthenticated');
    });
  });

  describe('secrets [Z2]', () => {
    it('reach the agent, and appear in no event, log, file or command line', async () => {
      await client.secrets.set({ name: 'SITE_KEY', value: SECRET });
      await client.environments.apply('secretive', {
        secrets: ['SITE_KEY'],
        setup: ['test -n "$SITE_KEY"'],
      });
      await create('secretive', { environment: 'secretive', repo: work.repo });
      // The agent says the secret aloud: the harness quotes what it finds in its conversation.
      const message =
        'WORD [[ run: sed -i "s/WORD/$SITE_KEY/" ~/.fake-harness/sessions/*.jsonl ;; echo ;; ' +
        'run: echo at >at.txt ;; until: go.txt ]]';
      await client.sessions.send('secretive', { message });
      await until('the turn is at work', async () => {
        const { state } = await client.sessions.get('secretive');
        if (state !== 'ACTIVE') return false;
        const argv = ['test', '-s', 'at.txt'];
        return (await client.sandboxes.exec('secretive', { argv })).exit_code === 0;
      });
      expect(commandLines().filter((line) => line.includes(SECRET))).toEqual([]);
      await shell(client, 'secretive', 'touch go.txt');
      const said = await sessionWhere(client, 'secretive', (s) => s.state === 'IDLE');
      expect(said.turns[0]?.summary).toContain('The first said "[redacted SITE_KEY] ');
      expect(JSON.stringify(said)).not.toContain(SECRET);
      await client.sessions.suspend('secretive', {}, { waitSeconds: WAIT_SECONDS });
      const log = await new Response(await client.audit.export({ session: 'secretive' })).text();
      expect(log).not.toContain(SECRET);
      expect(system.log.join('\n')).not.toContain(SECRET);
      expect(filesWith(system.state, SECRET)).toEqual([]);
      // The transcript is the owner's own, and whole: it went through a checkpoint and back.
      await client.sessions.open('secretive', { waitSeconds: WAIT_SECONDS });
      expect(await shell(client, 'secretive', 'cat ~/.fake-harness/sessions/*')).toContain(SECRET);
      await client.sessions.delete('secretive', { force: true });
    });

    it('are left out of what a failed set-up command printed', async () => {
      await client.environments.apply('loud', {
        secrets: ['SITE_KEY'],
        setup: ['echo "the key is $SITE_KEY" >&2; exit 9'],
      });
      const failed = await create('loud', { environment: 'loud' });
      expect(failed.state).toBe('FAILED');
      expect(failed.state_reason).toContain('the key is');
      expect(failed.state_reason).toContain('exit code 9');
      const log = await new Response(await client.audit.export({ session: 'loud' })).text();
      expect(JSON.stringify(failed) + log).not.toContain(SECRET);
      expect(system.log.join('\n')).not.toContain(SECRET);
    });
  });

  describe('a start that fails says why, and open tries again when it is mended [S4]', () => {
    const mended = async (name: string): Promise<void> => {
      await client.sessions.open(name, { waitSeconds: WAIT_SECONDS });
      // The message that waited is worked on, once.
      const end = await sessionWhere(client, name, (s) => s.state === 'IDLE' && s.turns.length > 0);
      expect(end.turns).toMatchObject([{ outcome: 'succeeded', summary: 'at last' }]);
    };
    const message = '[[ say: at last ]]';

    it('a repository that is not there', async () => {
      const repo = `${work.repo.slice(0, -'app.git'.length)}later/app.git`;
      const failed = await create('no-repo', { repo, message });
      expect(failed.state).toBe('FAILED');
      expect(failed.state_reason).toContain('app.git');
      expect(failed.queue).toHaveLength(1);
      execFileSync('git', ['clone', '-q', '--bare', work.repo, repo]);
      await mended('no-repo');
    });

    it('a base branch that does not exist', async () => {
      const failed = await create('no-base', { repo: work.repo, base_branch: 'later', message });
      expect(failed).toMatchObject({
        state: 'FAILED',
        state_reason: expect.stringContaining('has no branch later'),
      });
      work.git('branch', 'later', 'main');
      await mended('no-base');
    });

    it('a set-up command that fails', async () => {
      await client.environments.apply('wrong', { setup: ['true', 'echo out of paper; exit 3'] });
      const failed = await create('no-setup', { environment: 'wrong', message });
      expect(failed.state).toBe('FAILED');
      expect(failed.state_reason).toMatch(/command 2 .*exit code 3.*out of paper/s);
      await client.environments.apply('wrong', { setup: ['true'] });
      await mended('no-setup');
    });

    it('a secret that is missing', async () => {
      await client.environments.apply('needy', { secrets: ['DEPLOY_KEY'] });
      const failed = await create('no-secret', { environment: 'needy', message });
      expect(failed.state).toBe('FAILED');
      expect(failed.state_reason).toContain('DEPLOY_KEY');
      await client.secrets.set({ name: 'DEPLOY_KEY', value: 'anything at all' });
      await mended('no-secret');
    });
  });

  describe('the trail [L1]', () => {
    it('verify finds a row that was changed, one that is missing and one that was added', async () => {
      const { id } = await create('trail', { message: '[[ say: hello ]]' });
      expect(await client.audit.verify()).toEqual({ ok: true, problems: [] });
      const stream = `session/${id}`;
      const row = `stream_id = '${stream}' and version = 2`;
      const verify = () => client.audit.verify({ session: id });
      const set = (to: string): Promise<unknown> =>
        system.sql(`update es.event set ${to} where ${row}`);
      await system.sql(`create table kept as select * from es.event where ${row}`);
      await set(`data = replace(data::text, 'hello', 'forged')::json`);
      const changed = { stream, version: 2, problem: 'changed' };
      expect(await verify()).toEqual({ ok: false, problems: [changed] });
      expect((await client.audit.verify()).problems).toEqual([changed]);
      await set('data = (select data from kept)');
      expect(await verify()).toEqual({ ok: true, problems: [] });
      await system.sql(`delete from es.event where ${row}`);
      expect((await verify()).problems).toContainEqual({
        stream,
        version: 3,
        problem: 'missing',
      });
      await system.sql('insert into es.event overriding system value select * from kept');
      expect(await verify()).toEqual({ ok: true, problems: [] });
      await system.sql(`insert into es.event (fence, stream_id, version, id, type, schema, data, meta,
        at, hash) select fence, stream_id, (select max(version) + 1 from es.event where
        stream_id = '${stream}'), gen_random_uuid(), type, schema, data, meta, at, hash from kept`);
      const added = expect.objectContaining({ stream, problem: 'added' });
      expect((await verify()).problems).toContainEqual(added);
    });
  });
});

/** Of every process on this machine. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(join('/proc', pid, 'cmdline'), 'utf8');
      } catch {
        return ''; // It has ended meanwhile.
      }
    });
}

/** Every file below a directory whose bytes hold the text, also those of the servers. */
function filesWith(directory: string, text: string): string[] {
  const skip = ['--exclude-dir=harnesses'];
  try {
    return execFileSync('grep', ['-rlaF', ...skip, text, directory], { encoding: 'utf8' })
      .trim()
      .split('\n');
  } catch (error) {
    if ((error as { status?: number }).status === 1) return [];
    throw error;
  }
}
