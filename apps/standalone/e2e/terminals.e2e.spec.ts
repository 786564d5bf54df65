import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { HangarClient } from '@hangar/client';
import { HangarError } from '@hangar/contracts';
import WebSocket from 'ws';
import { CLI, NODE, enter, openScreen, openTty, type Screen } from './screen.ts';
import { SHAPE, System } from './system.ts';
import {
  MODEL,
  TEST_MS_MAX,
  WAIT_SECONDS,
  again,
  openWorkplace,
  sessionWhere,
  until,
  type Workplace,
} from './workplace.ts';

jest.setTimeout(TEST_MS_MAX);

describe(`terminals [X8] (${SHAPE})`, () => {
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

  const create = (name: string, more: object = {}, by = client) =>
    by.sessions.create(
      { name, environment: 'default', harness: 'fake', repo: work.repo, ...more },
      { waitSeconds: WAIT_SECONDS },
    );
  const openShell = async (
    ref: string,
    size = { cols: 80, rows: 24 },
  ): Promise<[string, Screen]> => {
    const { id } = await again(() => client.terminals.open(ref, { ...size }));
    const screen = openScreen(client, ref, id, size);
    screen.type('PS1="$ "; stty -echo\n');
    return [id, screen];
  };
  /** Numbered lines, one each 20 ms, between two words. */
  const count = (to: number): string =>
    `echo be""gin; for i in $(seq 1 ${to}); do echo "line $i"; sleep 0.02; done; echo e""nd\n`;
  const counted = (to: number): string =>
    `begin\r\n${Array.from({ length: to }, (_, i) => `line ${i + 1}\r\n`).join('')}end\r\n`;
  const codeOf = (screen: Screen): Promise<string> =>
    screen.attached.ended.then((end) => (end.kind === 'refused' ? end.error.code : end.kind));

  describe('a shell', () => {
    beforeAll(() => create('shells'));

    it('is where the work is, and its exit code is that of the shell', async () => {
      const [id, screen] = await openShell('shells');
      screen.type('pwd; cat a.txt; stty size\n');
      await screen.sees('/workspace/app\r\none\r\n24 80');
      expect((await client.terminals.list('shells')).items).toMatchObject([
        { id, kind: 'shell', state: 'running', exit_code: null, viewers: 1, cols: 80, rows: 24 },
      ]);
      screen.type('exit 7\n');
      expect(await screen.attached.ended).toEqual({ kind: 'exit', exitCode: 7, reason: null });
      expect((await client.terminals.list('shells')).items).toMatchObject([
        { id, state: 'ended', exit_code: 7, viewers: 0 },
      ]);
      // What it showed can still be read.
      const later = openScreen(client, 'shells', id);
      expect(await later.attached.ended).toEqual({ kind: 'exit', exitCode: 7, reason: null });
      expect(later.all()).toBe(screen.all());
      await client.terminals.close('shells', id);
      expect((await client.terminals.list('shells')).items).toEqual([]);
    });

    it('shows what it printed while nobody was there, each byte once', async () => {
      const [id, screen] = await openShell('shells');
      screen.type(count(50));
      await screen.sees('line 5\r\n');
      screen.attached.detach();
      expect(await codeOf(screen)).toBe('detached');
      const { offset } = screen.attached;
      expect((await client.terminals.list('shells')).items[0]).toMatchObject({ state: 'running' });
      const back = openScreen(client, 'shells', id, { cols: 80, rows: 24, from: offset });
      await back.sees('end\r\n');
      expect(`${screen.all()}${back.all()}`).toContain(counted(50));
      back.attached.detach();
      await client.terminals.close('shells', id);
    });

    it('a second viewer with another size sees the same, and the one who types has the say', async () => {
      const [id, wide] = await openShell('shells', { cols: 120, rows: 40 });
      await until('it is attached', async () => wide.sizes.includes('120x40'));
      const narrow = openScreen(client, 'shells', id, { cols: 50, rows: 20 });
      await until('it has the size of the second', async () => wide.sizes.at(-1) === '50x20');
      narrow.type('stty size; echo fr""om narrow\n');
      for (const each of [wide, narrow]) await each.sees('20 50\r\nfrom narrow');
      wide.type('stty size; echo fr""om wide\n');
      for (const each of [wide, narrow]) await each.sees('40 120\r\nfrom wide');
      expect(narrow.sizes.at(-1)).toBe('120x40');
      narrow.attached.detach();
      wide.attached.resize(90, 30);
      wide.type('stty size; exit\n');
      await wide.sees('30 90');
      expect(await codeOf(wide)).toBe('exit');
      await client.terminals.close('shells', id);
    });

    it('the gateway goes and comes back: nothing is lost, nothing comes twice', async () => {
      const [id, screen] = await openShell('shells');
      screen.type(count(100));
      await screen.sees('line 5\r\n');
      const gateway = SHAPE === 'apart' ? (['gateway'] as const) : [];
      await system.kill(...gateway);
      await until('the viewer knows', async () => screen.states.at(-1) === 'reconnecting');
      await system.up();
      await screen.sees('end\r\n');
      expect(screen.all()).toContain(counted(100));
      expect(screen.states.at(-1)).toBe('attached');
      expect(screen.lost).toBe(0);
      await client.terminals.close('shells', id);
      expect(await codeOf(screen)).toBe('exit');
    });

    it('kill -9 of every hangar process, twice: the same shell, and what it remembers', async () => {
      const [id, screen] = await openShell('shells');
      screen.type(`secret=pelican; ${count(60)}`);
      for (const line of ['line 5\r\n', 'line 25\r\n']) {
        await screen.sees(line);
        await system.kill();
        await system.up();
      }
      await screen.sees('end\r\n');
      expect(screen.all()).toContain(counted(60));
      screen.type('echo "it is $secret"; exit 3\n');
      await screen.sees('it is pelican');
      expect(await screen.attached.ended).toEqual({ kind: 'exit', exitCode: 3, reason: null });
      await client.terminals.close('shells', id);
    });

    it('a large output arrives whole at a viewer that takes its time', async () => {
      const [id, screen] = await openShell('shells');
      screen.type('echo be""gin; seq 1 300000; echo e""nd\n');
      await screen.sees('end\r\n');
      const text = screen.all();
      const lines = text.slice(text.indexOf('begin\r\n') + 7, text.indexOf('end\r\n'));
      expect(lines).toBe(Array.from({ length: 300_000 }, (_, i) => `${i + 1}\r\n`).join(''));
      await client.terminals.close('shells', id);
    });
  });

  describe('who may', () => {
    it('its owner, with a token that may write; a page of another site may not [Z1]', async () => {
      const token = async (owner: string, scope: 'read' | 'write') =>
        (await client.tokens.create({ owner, scope, name: `${owner}-${scope}` })).token;
      const writer = await token('ada', 'write');
      const ada = system.client(writer);
      const bob = system.client(await token('bob', 'write'));
      const reader = system.client(await token('ada', 'read'));
      await ada.environments.apply('default', { env: work.envVars });
      await create('mine', {}, ada);
      const { id } = await ada.terminals.open('mine', {});
      const mine = openScreen(ada, 'mine', id);
      mine.type('echo he""re\n');
      await mine.sees('here');

      const refusal = (call: Promise<unknown>): Promise<string> =>
        call.then(
          () => 'done',
          (error: unknown) => HangarError.from(error).code,
        );
      expect(await codeOf(openScreen(bob, 'mine', id))).toBe('not_found');
      expect(await refusal(bob.terminals.list('mine'))).toBe('not_found');
      expect(await refusal(bob.terminals.open('mine', {}))).toBe('not_found');
      expect(await refusal(bob.terminals.close('mine', id))).toBe('not_found');
      expect(await codeOf(openScreen(reader, 'mine', id))).toBe('forbidden');
      expect(await refusal(reader.terminals.open('mine', {}))).toBe('forbidden');
      expect(await refusal(reader.terminals.close('mine', id))).toBe('forbidden');
      expect((await reader.terminals.list('mine')).items).toHaveLength(1);
      expect(await codeOf(openScreen(system.client('hgr_nobody'), 'mine', id))).toBe(
        'unauthenticated',
      );
      expect(await codeOf(openScreen(ada, 'mine', 'trm-00000000'))).toBe('not_found');

      const path = `ws://127.0.0.1:${system.port}/api/sessions/mine/terminals/${id}/attach`;
      const dial = (origin?: string): Promise<string> =>
        new Promise((resolve) => {
          const headers = { authorization: `Bearer ${writer}` };
          const socket = new WebSocket(path, { headers, ...(origin ? { origin } : {}) });
          socket.once('error', (error) => resolve(error.message));
          socket.once('message', (text) => {
            resolve(String((JSON.parse(String(text)) as { type: string }).type));
            socket.close();
          });
        });
      expect(await dial('https://evil.example')).toContain('403');
      expect(await dial(system.url)).toBe('attached');
      expect(await dial()).toBe('attached');
      expect(mine.attached.state).toBe('attached');
      mine.attached.detach();
    });
  });

  describe('the command line', () => {
    it('is a screen of the shell: keys, size, detach, exit code; the tty is what it was', async () => {
      await create('typed');
      const tty = openTty(
        `"$NODE" "$CLI" session attach typed; echo "code $?"; stty -a | tr " " "\\n" | grep -x icanon`,
        { NODE, CLI, HANGAR_URL: system.url, HANGAR_TOKEN: system.token },
      );
      await tty.sees('Ctrl-\\ leaves it');
      await tty.sees('$ ');
      tty.type('stty size; echo tr""ial\r');
      await tty.sees('25 90\r\ntrial');
      tty.type('echo sl""eeping; sleep 600\r');
      await tty.sees('sleeping\r');
      tty.type('\u0003');
      await tty.sees('^C');
      tty.type('echo code=$?\r');
      await tty.sees('code=130');
      tty.type('\u001c');
      await tty.sees('which goes on');
      await tty.sees('code 0\r\nicanon');
      const [before] = (await client.terminals.list('typed')).items;
      expect(before).toMatchObject({ state: 'running', viewers: 0 });
      const again = openTty(`"$NODE" "$CLI" session attach typed; echo "code $?"`, {
        NODE,
        CLI,
        HANGAR_URL: system.url,
        HANGAR_TOKEN: system.token,
      });
      await again.sees('trial');
      again.type('exit 5\r');
      await again.sees('code 5');
      const [after] = (await client.terminals.list('typed')).items;
      expect(after).toMatchObject({ id: before?.id, state: 'ended', exit_code: 5 });
    });
  });

  describe('talking with the agent itself', () => {
    const openTalk = async (ref: string): Promise<[string, Screen]> => {
      const { id, kind } = await client.terminals.open(ref, { kind: 'agent' });
      expect(kind).toBe('agent');
      return [id, openScreen(client, ref, id)];
    };
    const say = async (screen: Screen, words: string): Promise<void> => {
      screen.type(`${words}\r`);
      await screen.sees(`I heard "${words}".`);
    };

    it('needs a conversation, and a session at rest', async () => {
      await create('silent');
      await expect(client.terminals.open('silent', { kind: 'agent' })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('no conversation'),
      });
      await client.sessions.send('silent', { message: '[[ until: go.txt ]]' });
      await expect(client.terminals.open('silent', { kind: 'agent' })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('between its turns'),
      });
      await client.sessions.interrupt('silent');
    });

    it('holds the turn back, survives kill -9, and its words are in the conversation [M5] [C2]', async () => {
      await create('talkative', { message: '[[ say: hello ]]' });
      const [id, screen] = await openTalk('talkative');
      await screen.sees('I was sent 1 user and 1 assistant messages.');
      await say(screen, 'the word is pelican');
      await expect(client.terminals.open('talkative', { kind: 'agent' })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(id),
      });
      await expect(client.sessions.suspend('talkative')).rejects.toMatchObject({
        code: 'conflict',
      });
      await client.sessions.send('talkative', { message: '[[ echo ]]' });
      await system.kill();
      await system.up();
      const waiting = await client.sessions.get('talkative');
      expect(waiting).toMatchObject({ state: 'IDLE', talk: { terminal_id: id } });
      expect(waiting.queue).toHaveLength(1);
      expect(waiting.turns).toHaveLength(1);
      await say(screen, 'and the other is heron');
      screen.type('/exit\r');
      expect(await screen.attached.ended).toEqual({ kind: 'exit', exitCode: 0, reason: null });
      const after = await sessionWhere(
        client,
        'talkative',
        (s) => s.state === 'IDLE' && s.turns.length === 2,
      );
      expect(after.talk).toBeNull();
      expect(after.turns[1]).toMatchObject({ outcome: 'succeeded', conversation: 'native' });
      expect(after.turns[1]?.summary).toContain('I was sent 4 user and 3 assistant messages.');
      expect(after.checkpoints.map(({ reason }) => reason)).toEqual(['turn', 'talk', 'turn']);
    });

    it('what was said comes back in another sandbox', async () => {
      const [id, screen] = await openTalk('talkative');
      await say(screen, 'a last word');
      await client.terminals.close('talkative', id);
      expect((await screen.attached.ended).kind).toBe('exit');
      const ended = await sessionWhere(
        client,
        'talkative',
        (s) => s.talk === null && s.checkpoints.filter((c) => c.reason === 'talk').length === 2,
      );
      expect(ended.state_reason).toContain('ended by a person');
      await again(() => client.sessions.suspend('talkative'));
      await sessionWhere(client, 'talkative', (s) => s.state === 'SUSPENDED');
      const done = await client.sessions.sendAndWait(
        'talkative',
        { message: '[[ echo ]]' },
        { waitSeconds: WAIT_SECONDS },
      );
      expect(done.turns.at(-1)?.summary).toContain('I was sent 6 user and 5 assistant messages.');
    });

    it.each([
      ['claude-code', '/exit'],
      ['pi', '/quit'],
    ] as const)(
      'in the real %s: what was said there is in the next turn',
      async (harness, leave) => {
        const name = `real-${harness}`;
        const model = MODEL[harness];
        await create(name, { harness, model, message: '[[ say: hello ]]' });
        const [, screen] = await openTalk(name);
        const said = (): string =>
          work.model
            .requests()
            .filter(({ tools }) => tools > 0)
            .flatMap(({ userTexts }) => userTexts)
            .join('\n');
        await enter(screen, `the word for ${harness} is pelican`, () =>
          said().includes(`the word for ${harness} is pelican`),
        );
        await enter(screen, leave, () => screen.attached.state === 'ended');
        expect(await screen.attached.ended).toMatchObject({ kind: 'exit', exitCode: 0 });
        await sessionWhere(client, name, (s) => s.talk === null && s.checkpoints.length === 2);
        const before = work.model.requests().length;
        const done = await client.sessions.sendAndWait(
          name,
          { message: '[[ say: ok ]]' },
          { waitSeconds: WAIT_SECONDS },
        );
        expect(done.turns.at(-1)).toMatchObject({ outcome: 'succeeded', conversation: 'native' });
        const asked = work.model.requests().slice(before);
        expect(
          asked
            .filter(({ tools }) => tools > 0)
            .at(-1)
            ?.userTexts.join('\n'),
        ).toContain(`the word for ${harness} is pelican`);
      },
    );

    it('goes with its sandbox, and says so', async () => {
      const [, screen] = await openTalk('talkative');
      await say(screen, 'lost words');
      const { sandbox_id } = await client.sessions.get('talkative');
      await system.killSandbox(sandbox_id ?? '');
      expect(await screen.attached.ended).toMatchObject({ kind: 'exit', exitCode: null });
      const gone = await sessionWhere(client, 'talkative', (s) => s.state === 'SUSPENDED');
      expect(gone.talk).toBeNull();
      expect(gone.attention.map(({ kind }) => kind)).toContain('lost_state');
    });
  });

  describe('a session at rest', () => {
    it('is not resumed by a terminal: it refuses, and says how to open it', async () => {
      await create('resting', { message: '[[ say: hello ]]' });
      const [id, screen] = await openShell('resting');
      screen.type('echo he""re\n');
      await screen.sees('here');
      await again(() => client.sessions.suspend('resting'));
      const end = await screen.attached.ended;
      expect(end).toMatchObject({ kind: 'exit', exitCode: null, reason: 'the sandbox is gone' });
      await sessionWhere(client, 'resting', (s) => s.state === 'SUSPENDED');
      const tab = openScreen(client, 'resting', id);
      const refused = await tab.attached.ended;
      expect(refused).toMatchObject({ kind: 'refused', error: { code: 'conflict' } });
      await expect(client.terminals.open('resting', {})).rejects.toMatchObject({
        code: 'conflict',
        hint: expect.stringContaining('hangar session open resting'),
      });
      expect((await client.terminals.list('resting')).items).toEqual([]);
      expect((await client.sessions.get('resting')).state).toBe('SUSPENDED');
    });
  });
});
