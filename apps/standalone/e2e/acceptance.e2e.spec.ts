import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import type { SessionDocument } from '@hangar/contracts';
import { installHarness, type HarnessName } from '@hangar/harness-adapters';
import type { TerminalView } from '@hangar/sandbox-drivers';
import { HARNESS_CACHE, SHAPE, System, type ServiceIo } from './system.ts';
import {
  LOOK,
  MODEL,
  TEST_MS_MAX,
  WAIT_SECONDS,
  WORK,
  defineEnvironment,
  openWorkplace,
  sessionWhere,
  shell,
  type Workplace,
} from './workplace.ts';

/** Run apart, one harness says what the other two would: only hangar's own processes differ. */
const HARNESSES: HarnessName[] = SHAPE === 'apart' ? ['pi'] : ['claude-code', 'codex', 'pi'];

/** Longer than the idle minute, so that it is seen which of the two clocks let a sandbox go. */
const TTL_MINUTES = 2;
/** The lifetime, the 90 s after the last use, the ticker's 15 s, and room for a busy machine. */
const REAL_MINUTES_MS_MAX = 270_000;
/** How often something is looked at that takes minutes. */
const LOOK_MS = 500;

interface IdleStory {
  idle: SessionDocument;
  attached: SessionDocument;
  attachedIdleMs: number;
  later: SessionDocument;
  laterAfterMs: number;
}

jest.setTimeout(TEST_MS_MAX);

describe(`acceptance (${SHAPE})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;
  let io: ServiceIo;
  const idleStories = new Map<string, Promise<IdleStory>>();

  /** One to be reaped, one to be idle, and one that is idle but for an open terminal. */
  const startWaiting = async (harness: HarnessName): Promise<void> => {
    await Promise.all([
      create(harness, `reaped-${harness}`, WORK),
      create(harness, `idle-${harness}`, WORK, 1),
      create(harness, `attached-${harness}`, WORK, 1),
    ]);
    // Work that no turn's checkpoint has: only one taken before the destroy can hold it.
    await shell(client, `reaped-${harness}`, 'echo late >late.txt; echo late >>a.txt');
    const { sandbox_id } = await client.sessions.get(`attached-${harness}`);
    const ref = await system.sandboxRef(sandbox_id ?? '');
    const size = { cols: 80, rows: 24 };
    await io.terminals.open(ref, 'trm-waiting', { argv: ['sh'], ...size });
    const terminal = await io.terminals.attach(ref, 'trm-waiting', { from: 0, size });
    terminal.output.resume();
    const story = idleStory(harness, terminal);
    story.catch(() => undefined); // The test that waits for it tells.
    idleStories.set(harness, story);
  };

  const suspends = (name: string): Promise<SessionDocument> =>
    sessionWhere(client, name, (s) => s.state === 'SUSPENDED', REAL_MINUTES_MS_MAX, LOOK_MS);

  /** The session with a terminal outlasts the one without; then its terminal is closed. */
  const idleStory = async (harness: HarnessName, terminal: TerminalView): Promise<IdleStory> => {
    const idle = await suspends(`idle-${harness}`);
    const attached = await client.sessions.get(`attached-${harness}`);
    const attachedIdleMs = Date.now() - Date.parse(attached.turns.at(-1)?.finished_at ?? '');
    await terminal.detach();
    const closedAt = Date.now();
    const later = await suspends(`attached-${harness}`);
    return { idle, attached, attachedIdleMs, later, laterAfterMs: Date.now() - closedAt };
  };

  beforeAll(async () => {
    for (const name of HARNESSES) await installHarness(name, HARNESS_CACHE, () => undefined);
    work = await openWorkplace();
    system = await System.start({
      envVars: { HANGAR_SANDBOX_TTL_MINUTES: String(TTL_MINUTES) },
    });
    client = system.client();
    await defineEnvironment(client, work);
    // Their minutes pass while the other tests are at work.
    io = await system.io();
    for (const harness of HARNESSES) await startWaiting(harness);
  }, 400_000);

  afterAll(async () => {
    io?.close();
    await system?.dispose();
    await work?.dispose();
  });

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
    });

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
    });

    it('INTERRUPTED: the agent goes away in mid-turn; retry sends the same message again', async () => {
      const message = `[[ run: echo half >> ${harness}.txt ;; run: sleep 600 ;; say: done ]]`;
      await client.sessions.send(name, { message });
      const session = await sessionWhere(
        client,
        name,
        (s) => s.state === 'ACTIVE' && s.turns.at(-1)?.started_at !== null,
      );
      await untilInSandbox(name, `test -s ${harness}.txt`);
      await system.killSandbox(session.sandbox_id ?? '');
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
    });

    it('INTERRUPTED: continue drops the message and the work up to the newest checkpoint is there', async () => {
      await client.sessions.send(name, { message: '[[ run: sleep 600 ;; say: done ]]' });
      const session = await sessionWhere(
        client,
        name,
        (s) => s.state === 'ACTIVE' && s.turns.at(-1)?.started_at !== null,
      );
      const turns = session.turns.length;
      await system.killSandbox(session.sandbox_id ?? '');
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
    });
  });

  describe.each(HARNESSES)('with the real %s, some minutes later', (harness) => {
    it('3. A sandbox destroyed by the reaper leaves a checkpoint taken before the destroy.', async () => {
      const name = `reaped-${harness}`;
      const reaped = await suspends(name);
      expect(reaped.state_reason).toContain('end of its lifetime');
      const newest = reaped.checkpoints.at(-1);
      expect(newest).toMatchObject({ reason: 'suspend', complete: true });
      const events = (await client.audit.list({ session: name, limit: 200 })).items;
      const of = (type: string) => events.filter((event) => event.type === type);
      const [expiring] = of('SandboxExpiring');
      const recorded = of('CheckpointRecorded').find(
        ({ data }) => data['checkpoint_id'] === newest?.id,
      );
      const [released] = of('SandboxReleaseRequested');
      const order = [expiring?.at, newest?.taken_at, recorded?.at, released?.at].map((at) =>
        Date.parse(at ?? ''),
      );
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      expect(order).not.toContain(Number.NaN);
      const { files } = await client.sandboxes.changes(name);
      expect(files).toContainEqual(
        expect.objectContaining({ path: 'late.txt', area: 'untracked', status: 'added' }),
      );
      await client.sessions.open(name, { waitSeconds: WAIT_SECONDS });
      expect(await shell(client, name, 'tail -1 a.txt; cat late.txt; git log -1 --format=%s')).toBe(
        'late\nlate\nsecond\n',
      );
    }, 330_000);

    it('4. Idle sessions suspend after idle_minutes; attached terminals keep them alive.', async () => {
      const seen = await idleStories.get(harness);
      expect(seen?.idle.state_reason).toBe('idle for 1 minute');
      expect(seen?.attached.state).toBe('IDLE');
      expect(seen?.attachedIdleMs).toBeGreaterThan(60_000);
      expect(seen?.later.checkpoints.at(-1)).toMatchObject({ complete: true });
      expect(seen?.laterAfterMs).toBeGreaterThan(59_000);
    }, 600_000);
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
