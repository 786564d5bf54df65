import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { HangarClient } from '@hangar/client';
import type { SessionDocument } from '@hangar/contracts';
import { SHAPE, System } from './system.ts';
import {
  TEST_MS_MAX,
  WAIT_SECONDS,
  again,
  defineEnvironment,
  openWorkplace,
  sessionWhere,
  shell,
  type Workplace,
} from './workplace.ts';

/** Each turn leaves one line: done twice it would be two, lost it would be none. */
const FIRST =
  '[[ run: echo first >> done.txt && git add done.txt && git commit -qm first ;; wait: 700 ++ ' +
  'run: echo loose >> notes.txt ;; say: first done ]]';
const SECOND = '[[ run: echo second >> done.txt ;; wait: 300 ++ say: second done ]]';

/** Every event of a session's story from creation to the second turn after a resume. */
const STEPS = [
  'SessionCreated',
  'SandboxRequested',
  'StartPhaseChanged',
  'SandboxAttached',
  'TurnRequested',
  'TurnStarted',
  'MessageDelivered',
  'TurnFinished',
  'CheckpointDue',
  'CheckpointRecorded',
  'SuspendRequested',
  'SandboxReleaseRequested',
  'SessionSuspended',
  'ResumeRequested',
  'RestoreRequested',
  'SessionResumed',
] as const;

/**
 * The standalone process is killed at every step. Run apart, where a story costs more, all services
 * are killed at once at one step, and each service alone at one: the seed chooses which, so that
 * many runs see them all.
 */
const SERVICES = ['sandboxes', 'sessions', 'checkpoints', 'runs', 'gateway'] as const;
const ALL_AT_ONCE_APART = 1;

const RANDOM_KILLS = SHAPE === 'apart' ? 2 : 4;
const RANDOM_KILL_MS_MAX = 6_000;
const seed = Number(process.env['HANGAR_TEST_SEED'] ?? Date.now() % 100_000);

jest.setTimeout(TEST_MS_MAX);

describe(`kill -9 of every hangar process (${SHAPE}, seed ${seed})`, () => {
  let work: Workplace;
  let system: System;
  let client: HangarClient;
  let undisturbed: object;

  beforeAll(async () => {
    work = await openWorkplace();
    system = await System.start();
    client = system.client();
    await defineEnvironment(client, work);
    undisturbed = await story('undisturbed', async () => undefined);
  });

  afterAll(async () => {
    await system?.dispose();
    await work?.dispose();
  });

  it('has an undisturbed run to compare with', () => {
    expect(undisturbed).toEqual({
      state: 'IDLE',
      turns: [
        { outcome: 'succeeded', conversation: 'native', checkpointed: true },
        { outcome: 'succeeded', conversation: 'native', checkpointed: true },
      ],
      queue: [],
      attention: [],
      complete: true,
      files: 'first\nsecond\nloose\n',
      status: ' M done.txt\n?? notes.txt\n',
      remembers: true,
    });
  });

  it.each(SHAPE === 'apart' ? chosen(STEPS, ALL_AT_ONCE_APART, seed) : STEPS)(
    'at %s: the end is that of an undisturbed run',
    async (step) => {
      const end = await story(`at-${step.toLowerCase()}`, async (id) => {
        await firstEvent(id, step);
        await system.kill();
        await system.up();
      });
      expect(end).toEqual(undisturbed);
    },
  );

  if (SHAPE === 'apart') {
    const steps = chosen(STEPS, SERVICES.length, seed + 1);
    it.each(SERVICES.map((service, index) => [service, steps[index] ?? STEPS[0]] as const))(
      'only %s, at %s: the end is that of an undisturbed run',
      async (service, step) => {
        const end = await story(`${service}-at-${step.toLowerCase()}`, async (id) => {
          await firstEvent(id, step);
          await system.kill(service);
          await system.up();
        });
        expect(end).toEqual(undisturbed);
      },
    );
  }

  it('at random moments: the end is that of an undisturbed run', async () => {
    const random = mulberry32(seed);
    const end = await story('at-random', async () => {
      for (let kills = 0; kills < RANDOM_KILLS; kills += 1) {
        const ms = Math.floor(random() * RANDOM_KILL_MS_MAX);
        await new Promise((resolve) => setTimeout(resolve, ms));
        await system.kill();
        await system.up();
      }
    });
    expect(end).toEqual(undisturbed);
  });

  /** Creates, works, suspends, resumes by a message, works; `disturb` does its worst meanwhile. */
  async function story(name: string, disturb: (id: string) => Promise<void>): Promise<object> {
    // A story that failed may have left hangar down: this one has nothing to do with that.
    await system.up();
    const created = await client.sessions.create({
      name,
      environment: 'default',
      harness: 'fake',
      repo: work.repo,
      base_branch: 'main',
      message: FIRST,
    });
    const disturbed = disturb(created.id);
    await settled(created.id, (s) => s.state === 'IDLE' && s.turns.length === 1);
    await again(() => client.sessions.suspend(created.id));
    await settled(created.id, (s) => s.state === 'SUSPENDED');
    await again(() =>
      client.sessions.send(created.id, { message: SECOND }, { idempotencyKey: `${name}-second` }),
    );
    await settled(created.id, (s) => s.state === 'IDLE' && s.turns.length === 2);
    await disturbed;
    const end = await settled(created.id, (s) => s.state === 'IDLE');
    const look = (script: string): Promise<string> =>
      again(() => shell(client, created.id, script));
    return {
      state: end.state,
      turns: end.turns.map((turn) => ({
        outcome: turn.outcome,
        conversation: turn.conversation,
        checkpointed: turn.checkpoint_id !== null,
      })),
      queue: end.queue,
      attention: end.attention,
      complete: end.checkpoints.every((c) => c.complete),
      files: await look('cat done.txt notes.txt'),
      status: await look('git status --porcelain'),
      // The harness's own words: how many messages of the conversation it was sent.
      remembers: await look('cat ~/.fake-harness/sessions/*.jsonl').then((t) =>
        t.includes('first done'),
      ),
    };
  }

  /** The session at a place, over restarts of everything. */
  function settled(id: string, at: (s: SessionDocument) => boolean): Promise<SessionDocument> {
    return again(() => sessionWhere(client, id, at, WAIT_SECONDS * 1000));
  }

  /** Returns as soon as the session's log has the event. */
  async function firstEvent(id: string, type: string): Promise<void> {
    const controller = new AbortController();
    try {
      for await (const event of client.events.session(id, {
        lastEventId: '0',
        signal: controller.signal,
      }))
        if (event.type === type) return;
    } finally {
      controller.abort();
    }
  }
});

/** `count` of them in their order, the same ones for the same seed. */
function chosen<T>(all: readonly T[], count: number, start: number): T[] {
  const random = mulberry32(start);
  const keys = all.map((each) => ({ each, key: random() }));
  const kept = new Set(keys.toSorted((a, b) => a.key - b.key).slice(0, count));
  return keys.filter((each) => kept.has(each)).map(({ each }) => each);
}

function mulberry32(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
