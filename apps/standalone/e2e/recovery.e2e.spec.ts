import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { existsSync } from 'node:fs';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import { HangarError, type SessionDocument } from '@hangar/contracts';
import { SHAPE, System } from './system.ts';
import {
  TEST_MS_MAX,
  WAIT_SECONDS,
  again,
  defineEnvironment,
  openWorkplace,
  queueing,
  sessionWhere,
  shell,
  until,
  type Workplace,
} from './workplace.ts';

/** Works until a file tells it to stop, so that a test decides how long a turn is. */
const HELD = '[[ run: echo held >held.txt ;; until: go.txt ;; say: let go ]]';
/** A turn that says 30 lines in 3 seconds; each is a reply, and a reply is 50 tokens. */
const LINES = 30;
const TALK = `[[ ${Array.from({ length: LINES }, (_, n) => `say: line ${n + 1} ++ wait: 100`).join(' ;; ')} ]]`;

jest.setTimeout(TEST_MS_MAX);

describe(`nothing is lost (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start();
    client = queueing(system.client());
    await defineEnvironment(client, work);
  });

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  });

  const create = (name: string, message?: string): ReturnType<HangarClient['sessions']['create']> =>
    client.sessions.create(
      {
        name,
        environment: 'default',
        harness: 'fake',
        repo: work.repo,
        ...(message ? { message } : {}),
      },
      { waitSeconds: WAIT_SECONDS },
    );

  const countOf = async (ref: string, type: string): Promise<number> =>
    (await client.audit.list({ session: ref, type, limit: 200 })).items.length;

  /** Seen from outside, because hangar may be away: what the sandbox's disk holds. */
  const onDisk = (s: SessionDocument, path: string): string =>
    join(system.sandboxDirectory(s.sandbox_id ?? ''), 'disk', path);

  /** A session whose turn is at work, and goes on until `letGo`. */
  const held = async (name: string): Promise<SessionDocument> => {
    const session = await create(name);
    await client.sessions.send(name, { message: HELD });
    await until('the turn is at work', async () =>
      existsSync(onDisk(session, 'workspace/app/held.txt')),
    );
    return session;
  };

  const letGo = (s: SessionDocument): Promise<void> =>
    writeFile(onDisk(s, 'workspace/app/go.txt'), '');

  const rests = (ref: string, turns: number): Promise<SessionDocument> =>
    again(() =>
      sessionWhere(
        client,
        ref,
        (s) => s.state === 'IDLE' && s.turns.length === turns,
        WAIT_SECONDS * 1000,
      ),
    );

  const worksOn = async (ref: string): Promise<void> => {
    const { turns } = await client.sessions.sendAndWait(
      ref,
      { message: '[[ say: still here ]]' },
      { waitSeconds: WAIT_SECONDS },
    );
    expect(turns.at(-1)).toMatchObject({ outcome: 'succeeded', summary: 'still here' });
  };

  it('every process of hangar is killed while a turn talks: all of it is there [M6]', async () => {
    const session = await create('talk');
    const said = async (): Promise<number> => {
      const directory = onDisk(session, 'home/.fake-harness/sessions');
      const [file] = await readdir(directory).catch(() => []);
      const text = file ? await readFile(join(directory, file), 'utf8') : '';
      return text.split('"assistant"').length - 1;
    };
    await client.sessions.send('talk', { message: TALK });
    await until('it talks', async () => (await said()) >= 5);
    await system.kill();
    const atKill = await said();
    await until('it has said everything to nobody', async () => (await said()) === LINES);
    expect(atKill).toBeLessThan(LINES);
    await system.up();
    const end = await rests('talk', 1);
    expect(end.turns[0]).toMatchObject({
      outcome: 'succeeded',
      summary: `line ${LINES}`,
      usage: { output_tokens: 50 * LINES },
    });
    expect(end.sandbox_id).toBe(session.sandbox_id);
    for (const type of ['RunRequested', 'RunStarted', 'MessageDelivered', 'TurnFinished'])
      expect([type, await countOf('talk', type)]).toEqual([type, 1]);
  });

  it('comes back in the middle of a turn and goes on from where it was, twice', async () => {
    const session = await create('listen');
    const file = (name: string): string => onDisk(session, `workspace/app/${name}.txt`);
    const message =
      '[[ say: one ++ run: touch said-1.txt ;; until: go-1.txt ++ say: two ++ ' +
      'run: touch said-2.txt ;; until: go-2.txt ++ say: three ]]';
    await client.sessions.send('listen', { message });
    for (const step of [1, 2]) {
      await until('it has said more', async () => existsSync(file(`said-${step}`)));
      await system.kill();
      await writeFile(file(`go-${step}`), '');
      await system.up();
    }
    const end = await rests('listen', 1);
    expect(end.turns[0]).toMatchObject({
      outcome: 'succeeded',
      summary: 'three',
      usage: { output_tokens: 3 * 50 },
    });
    expect(end.sandbox_id).toBe(session.sandbox_id);
    expect(await countOf('listen', 'RunStarted')).toBe(1);
  });

  it('postgres and nats-server are killed while turns run', async () => {
    const sessions = [await held('served-1'), await held('served-2')];
    for (const server of ['postgres', 'nats-server'] as const) {
      await system.killServer(server);
      await again(() => worksOn('talk'));
    }
    for (const session of sessions) {
      await letGo(session);
      const end = await rests(session.id, 1);
      expect(end.turns).toMatchObject([{ outcome: 'succeeded', summary: 'let go' }]);
      expect(end.sandbox_id).toBe(session.sandbox_id);
    }
    expect(await client.audit.verify()).toEqual({ ok: true, problems: [] });
  });

  it('the store of JetStream is wiped while hangar is down', async () => {
    const session = await held('wiped');
    await client.sessions.send('wiped', { message: '[[ say: after it ]]' });
    await system.kill();
    await system.kill('servers');
    await rm(join(system.state, 'nats', 'store'), { recursive: true });
    await letGo(session);
    await system.up();
    const end = await rests('wiped', 2);
    expect(end.turns.map(({ summary }) => summary)).toEqual(['let go', 'after it']);
    await worksOn('wiped');
  });

  it('the sandbox is killed in mid-turn: INTERRUPTED, and continue goes on', async () => {
    const session = await held('cut');
    await system.killSandbox(session.sandbox_id ?? '');
    const cut = await sessionWhere(client, 'cut', (s) => s.state === 'INTERRUPTED');
    expect(cut.turns).toMatchObject([{ outcome: 'interrupted' }]);
    expect(cut.attention).toMatchObject([{ kind: 'interrupted' }]);
    await client.sessions.continue('cut', { waitSeconds: WAIT_SECONDS });
    await worksOn('cut');
  });

  it('the sandbox is killed between turns: SUSPENDED, with the reason and what is safe', async () => {
    const { sandbox_id } = await create('gone', '[[ run: echo kept >kept.txt ;; say: done ]]');
    await system.killSandbox(sandbox_id ?? '');
    const gone = await sessionWhere(client, 'gone', (s) => s.state === 'SUSPENDED');
    expect(gone.state_reason).toMatch(/the sandbox went away: .*checkpoint ckp-.* is safe/);
    expect(gone.attention).toMatchObject([{ kind: 'lost_state' }]);
    await client.sessions.open('gone', { waitSeconds: WAIT_SECONDS });
    expect(await shell(client, 'gone', 'cat kept.txt')).toBe('kept\n');
  });

  it('a sandbox that no session owns is removed, and no other one', async () => {
    const { sandbox_id } = await client.sessions.get('gone');
    const orphan = 'sbx-0badcafe-1';
    await system.makeOrphan(orphan);
    await until('it is removed', async () => !existsSync(system.sandboxDirectory(orphan)));
    expect((await client.sessions.get('gone')).sandbox_id).toBe(sandbox_id);
    expect(await shell(client, 'gone', 'cat kept.txt')).toBe('kept\n');
  });

  it('hangar is stopped: idle sessions are saved by the one process, turns go on without it', async () => {
    const idle = await create('stopped', '[[ run: echo kept >kept.txt ;; say: done ]]');
    const session = await held('going-on');
    await system.stop('SIGINT');
    const isThere = (s: SessionDocument): boolean =>
      existsSync(system.sandboxDirectory(s.sandbox_id ?? ''));
    // Services of their own cannot know that it is all of hangar that stops.
    expect([isThere(idle), isThere(session)]).toEqual([SHAPE === 'apart', true]);
    await letGo(session);
    await system.up();
    expect((await rests('going-on', 1)).turns).toMatchObject([{ summary: 'let go' }]);
    await client.sessions.open('stopped', { waitSeconds: WAIT_SECONDS });
    expect(await shell(client, 'stopped', 'cat kept.txt')).toBe('kept\n');
  });

  it('a sandbox that cannot be asked is not replaced, and nothing is lost [S5]', async () => {
    const session = await held('mute');
    const sandboxd = await system.sandboxdOf(session.sandbox_id ?? '');
    process.kill(sandboxd, 'SIGSTOP');
    try {
      // Services that come back have to ask it anew, and get no answer.
      await system.kill();
      await system.up();
      const code = await client.sandboxes.exec('mute', { argv: ['true'] }).then(
        () => 'done',
        (error: unknown) => HangarError.from(error).code,
      );
      expect(code).toBe('unavailable');
      expect(await client.sessions.get('mute')).toMatchObject({
        state: 'ACTIVE',
        sandbox_id: session.sandbox_id,
        attention: [],
      });
    } finally {
      process.kill(sandboxd, 'SIGCONT');
    }
    await letGo(session);
    const end = await rests('mute', 1);
    expect(end.turns).toMatchObject([{ outcome: 'succeeded', summary: 'let go' }]);
    expect(end.sandbox_id).toBe(session.sandbox_id);
    expect(await countOf('mute', 'SandboxRequested')).toBe(1);
    expect(await countOf('mute', 'SandboxLost')).toBe(0);
  });

  it('hooks, settings and attributes of a hostile repository run nowhere [C2] [R4]', async () => {
    const canary = join(dirname(work.repo), 'canary');
    await create('hostile');
    await shell(client, 'hostile', plant(canary));
    const look = 'cat a.txt evil.txt .gitattributes; ls .git/hooks | sort; git ls-files -s';
    const before = await shell(client, 'hostile', look);
    // The look was git at work for the agent itself: what it ran does not count.
    await shell(client, 'hostile', 'test -s ~/ran && rm /tmp/ran ~/ran');
    const ran = (): Promise<string> => shell(client, 'hostile', 'ls /tmp/ran ~/ran 2>&1; true');
    const nothing = await ran();
    const taken = await client.checkpoints.take('hostile', { waitSeconds: WAIT_SECONDS });
    expect(taken.checkpoints).toMatchObject([{ complete: true }]);
    await client.sandboxes.changes('hostile');
    expect(await ran()).toBe(nothing);
    await client.sessions.suspend('hostile', {}, { waitSeconds: WAIT_SECONDS });
    await client.sandboxes.changes('hostile');
    await client.sessions.open('hostile', { waitSeconds: WAIT_SECONDS });
    expect(await ran()).toBe(nothing);
    expect(await shell(client, 'hostile', look)).toBe(before);
    expect(existsSync(canary)).toBe(false);
  });
});

/** Everything that git would run, set to leave a mark; the canary's path exists outside only. */
function plant(canary: string): string {
  const hooks = [
    'post-checkout',
    'post-commit',
    'post-index-change',
    'post-merge',
    'post-rewrite',
    'pre-auto-gc',
    'pre-commit',
    'reference-transaction',
  ];
  const program = '$PWD/.git/evil';
  return `set -e
    echo evil >evil.txt && git add evil.txt && git commit -qm evil && echo more >>a.txt
    printf '#!/bin/sh\\necho by $0 >>/tmp/ran; echo by $0 >>~/ran; touch ${canary}; cat\\n' >.git/evil
    chmod +x .git/evil
    for hook in ${hooks.join(' ')}; do cp .git/evil .git/hooks/$hook; done
    echo '*.txt filter=evil diff=evil' >.gitattributes
    for key in filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.command \\
      diff.evil.textconv diff.external core.fsmonitor core.sshCommand core.pager core.editor \\
      credential.helper gpg.program uploadpack.packObjectsHook core.alternateRefsCommand; do
      git config "$key" "${program}"
    done
    git config core.hooksPath "$PWD/.git/hooks"
    git config filter.evil.required true
    git config alias.status '!${canary}; touch /tmp/ran'
    rm -f /tmp/ran ~/ran`;
}
