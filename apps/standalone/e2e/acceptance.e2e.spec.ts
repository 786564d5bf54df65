import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import { installHarness, type HarnessName } from '@hangar/harness-adapters';
import { HARNESS_CACHE, SHAPE, System } from './system.ts';
import {
  LOOK,
  MODEL,
  WAIT_SECONDS,
  WORK,
  defineEnvironment,
  openWorkplace,
  sessionWhere,
  shell,
  type Workplace,
} from './workplace.ts';

const HARNESSES: HarnessName[] = ['claude-code', 'codex', 'pi'];

describe(`seed 000, section 8, on ${SHAPE}`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;

  beforeAll(async () => {
    for (const name of HARNESSES) await installHarness(name, HARNESS_CACHE, () => undefined);
    work = await openWorkplace();
    // The shortest lifetime there is, so that the reaper's part of the story is seen.
    system = await System.start({ envVars: { HANGAR_SANDBOX_TTL_MINUTES: '1' } });
    client = system.client();
    await defineEnvironment(client, work);
  }, 300_000);

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  }, 60_000);

  const create = (
    harness: HarnessName,
    name: string,
    message?: string,
    idle_minutes = 30,
  ): ReturnType<HangarClient['sessions']['create']> => {
    const model = MODEL[harness];
    return client.sessions.create(
      {
        name,
        environment: 'default',
        harness,
        repo: work.repo,
        base_branch: 'main',
        idle_minutes,
        ...(model ? { model } : {}),
        ...(message ? { message } : {}),
      },
      { waitSeconds: WAIT_SECONDS },
    );
  };

  describe.each(HARNESSES)('with the real %s', (harness) => {
    const name = `work-${harness}`;
    let before = '';
    let conversation: string | null = null;

    it('1. Create a session, run a turn that commits and leaves an uncommitted change and an untracked file, then suspend. The sandbox is gone.', async () => {
      const created = await create(harness, name, WORK);
      expect(created.turns).toMatchObject([{ outcome: 'succeeded', conversation: 'native' }]);
      expect(created.turns[0]?.summary).toContain('pelican');
      expect(created.state).toBe('IDLE');
      before = await shell(client, name, LOOK);
      expect(before).toContain('second');
      conversation = created.harness_session;
      expect(conversation).toBeTruthy();
      const sandbox = join(system.state, 'sandboxes', created.sandbox_id ?? '');
      expect(existsSync(sandbox)).toBe(true);
      const suspended = await client.sessions.suspend(name, {}, { waitSeconds: WAIT_SECONDS });
      expect(suspended).toMatchObject({ state: 'SUSPENDED', sandbox_id: null });
      expect(suspended.checkpoints.at(-1)).toMatchObject({ complete: true });
      expect(existsSync(sandbox)).toBe(false);
    }, 180_000);

    it('2. send a follow-up: a new sandbox has the commit, the change and the file, and the harness was invoked with its resume flag and the same conversation id.', async () => {
      const first = work.model.requests().length;
      const message = `what is the word, ${harness}?`;
      const after = await client.sessions.sendAndWait(
        name,
        { message },
        { waitSeconds: WAIT_SECONDS },
      );
      expect(after.turns.at(-1)).toMatchObject({
        outcome: 'succeeded',
        conversation: 'native',
        message,
      });
      expect(await shell(client, name, LOOK)).toBe(before);
      expect(after.harness_session).toBe(conversation);
      expect(after.continuity).toMatchObject({
        conversation: { state: 'kept' },
        commits: { state: 'kept' },
        staged: { state: 'kept' },
        unstaged: { state: 'kept' },
        untracked: { state: 'kept' },
      });
      // The model was sent the words of the first turn with the follow-up: the same conversation.
      const asked = work.model
        .requests()
        .slice(first)
        .find((request) => request.userTexts.some((text) => text.includes(message)));
      expect(asked?.userTexts.some((text) => text.includes('pelican'))).toBe(true);
      expect(asked?.roles.filter((role) => role === 'assistant').length).toBeGreaterThan(0);
    }, 180_000);

    it('INTERRUPTED: the agent goes away in mid-turn; retry sends the same message again', async () => {
      const message = `[[ run: echo half >> ${harness}.txt ;; run: sleep 600 ;; say: done ]]`;
      await client.sessions.send(name, { message });
      const session = await sessionWhere(
        client,
        name,
        (s) => s.state === 'ACTIVE' && s.turns.at(-1)?.started_at !== null,
      );
      await untilInSandbox(name, `test -s ${harness}.txt`);
      await killSandbox(system, session.sandbox_id ?? '');
      const interrupted = await sessionWhere(client, name, (s) => s.state === 'INTERRUPTED');
      expect(interrupted.attention).toMatchObject([
        { kind: 'interrupted', choices: ['retry', 'continue'] },
      ]);
      expect(interrupted.state_reason).toMatch(/ckp-[0-9a-f]{8}-\d+ of \d{4}-/);
      expect(interrupted.turns.at(-1)).toMatchObject({ outcome: 'interrupted' });
      await client.sessions.retry(name);
      const again = await sessionWhere(
        client,
        name,
        (s) => s.state === 'ACTIVE' && s.turns.at(-1)?.started_at !== null,
      );
      expect(again.turns.at(-1)?.message).toBe(message);
      const stopped = await client.sessions.interrupt(name, { waitSeconds: WAIT_SECONDS });
      expect(stopped.turns.at(-1)).toMatchObject({ outcome: 'cancelled' });
    }, 180_000);

    it('INTERRUPTED: continue drops the message and the work up to the newest checkpoint is there', async () => {
      await client.sessions.send(name, { message: '[[ run: sleep 600 ;; say: done ]]' });
      const session = await sessionWhere(
        client,
        name,
        (s) => s.state === 'ACTIVE' && s.turns.at(-1)?.started_at !== null,
      );
      const turns = session.turns.length;
      await killSandbox(system, session.sandbox_id ?? '');
      await sessionWhere(client, name, (s) => s.state === 'INTERRUPTED');
      const continued = await client.sessions.continue(name, { waitSeconds: WAIT_SECONDS });
      expect(continued).toMatchObject({ state: 'IDLE', queue: [] });
      // The decision is made; what was lost with the sandbox is said, not hidden.
      expect(continued.attention.map((card) => card.kind)).not.toContain('interrupted');
      expect(continued.attention.at(-1)).toMatchObject({ kind: 'lost_state' });
      expect(continued.attention.at(-1)?.text).toContain('1 turn older');
      expect(continued.turns).toHaveLength(turns);
      expect(await shell(client, name, 'cat u.txt; git log -1 --format=%s')).toBe(
        'loose\nsecond\n',
      );
    }, 180_000);
  });

  const untilInSandbox = async (ref: string, condition: string): Promise<void> => {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const done = await client.sandboxes.exec(ref, { argv: ['sh', '-c', condition] });
      if (done.exit_code === 0) return;
      if (Date.now() > deadline) throw new Error(`never true in the sandbox: ${condition}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
});

async function killSandbox(system: System, id: string): Promise<void> {
  const { readFile } = await import('node:fs/promises');
  const record = JSON.parse(
    await readFile(join(system.state, 'sandboxes', id, 'record.json'), 'utf8'),
  ) as { init: { pid: number } };
  process.kill(record.init.pid, 'SIGKILL');
}
