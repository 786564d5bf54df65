import { createHash } from 'node:crypto';
import { expect } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import type { ActivityEntry } from '@hangar/messaging';
import { createMemoryActivityLog } from '@hangar/messaging/memory';
import { createRedactor } from '@hangar/service-kit';
import { sessionCaps } from '../../../../../libs/checkpoints/src/session-caps.ts';
import { capture } from '../../../../../libs/checkpoints/src/tool/capture.ts';
import { captureRequest } from '../../../../../libs/checkpoints/src/tool/cases/case.ts';
import {
  closeScene,
  commit,
  makeScene,
  write,
  type Scene,
} from '../../../../../libs/checkpoints/src/tool/cases/scene.ts';
import { createActivityWriter } from '../../../../../libs/runs/src/activity-writer.ts';
import { decide } from '../../../../../libs/sandboxes/src/sandbox.decider.ts';
import {
  createWorkerBench,
  request,
  type WorkerBench,
} from '../../../../../libs/sandboxes/src/testing/worker-bench.ts';
import { MOMENT_MINUTES, SETTINGS, later, type LimitBench, type LimitTests } from './bench.ts';

const MEGABYTE = 1_000_000;

/** Bytes that do not compress. */
const noise = (size: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(size / 64) }, (_, at) =>
      createHash('sha512').update(`${at}`).digest(),
    ),
  ).subarray(0, size);

/** What is left out of a checkpoint of a session, with the caps that its environment gives it. */
async function skipped(bench: LimitBench, build: (scene: Scene) => void): Promise<string[]> {
  const { id } = await bench.session();
  const { partBytesMax, untrackedBytesMax } = await sessionCaps(
    bench.stack.log.store(['session']),
    { partBytesMax: 0, untrackedBytesMax: 0 },
    id,
  );
  const scene = makeScene('session');
  try {
    build(scene);
    const caps = {
      part_bytes_max: partBytesMax,
      file_bytes_max: partBytesMax,
      untracked_bytes_max: untrackedBytesMax,
      unpacked_bytes_max: 1000 * MEGABYTE,
    };
    const taken = await capture(captureRequest(scene, { caps }));
    if (!('skipped' in taken)) throw new Error('nothing was captured');
    expect(taken.complete).toBe(taken.skipped.length === 0);
    return taken.skipped.map(({ path }) => path);
  } finally {
    await closeScene(scene);
  }
}

/** How long the commands of a start may take, by what they are. */
async function timeouts(): Promise<Map<'clone' | 'setup', number | undefined>> {
  const bench = await createWorkerBench({ recipe: { setup: ['npm ci'] } });
  await request(bench);
  await bench.provision();
  return new Map(
    bench.driver.execs.map(({ argv, timeoutMs }) => [
      argv.includes('npm ci') ? 'setup' : 'clone',
      timeoutMs,
    ]),
  );
}

/** Whether a sandbox with so many before it gets a place. */
async function hasRoom(sandboxesAhead: number): Promise<boolean> {
  const bench: WorkerBench = await createWorkerBench({
    activeMax: SETTINGS.maxActiveSessions,
    sandboxesAhead: async () => sandboxesAhead,
  });
  await request(bench);
  const leaving = new AbortController();
  const work = bench.provision({ signal: leaving.signal });
  for (;;) {
    const { status, step } = await bench.state();
    if (status === 'ready') return true;
    if (step === 'queued') break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  leaving.abort();
  await work.catch(() => undefined);
  return false;
}

/** What is kept of what a process says when `known` items of it are there already. */
async function kept(known: number, texts: string[]): Promise<ActivityEntry[]> {
  const entries: ActivityEntry[] = [];
  const writer = await createActivityWriter({
    activity: {
      ...createMemoryActivityLog(),
      lastSeq: async () => known,
      append: async (_, more) => void entries.push(...more),
    },
    nats: { isClosed: () => true } as NatsConnection,
    sessionId: 'ses-1a2b3c4d',
    turn: 1,
    part: 0,
    isAgain: known > 0,
    now: () => new Date(),
    redact: createRedactor([]),
  });
  for (let seq = 0; seq < known; seq += 1) writer.say({ type: 'notice', text: 'known' });
  for (const text of texts) writer.say({ type: 'notice', text });
  await writer.close();
  return entries;
}

/** What the services around a session hold it to. */
export const workerLimits: LimitTests = {
  session_max_part_mb: async (value, bench) => {
    const changed = (size: number) => (scene: Scene) => {
      write(scene, 'data.bin', 'small');
      commit(scene, 'a file');
      write(scene, 'data.bin', noise(size));
    };
    expect(await skipped(bench, changed(value * MEGABYTE * 0.7))).toEqual([]);
    expect(await skipped(bench, changed(value * MEGABYTE * 1.1))).toEqual(['data.bin']);
  },

  session_max_untracked_mb: async (value, bench) => {
    const half = noise((value * MEGABYTE) / 2);
    const loose = (size: number) => (scene: Scene) => {
      write(scene, 'one.bin', half.subarray(0, size / 2));
      write(scene, 'two.bin', Buffer.from(half.subarray(0, size / 2)).reverse());
    };
    expect(await skipped(bench, loose(value * MEGABYTE * 0.95))).toEqual([]);
    expect(await skipped(bench, loose(value * MEGABYTE))).toHaveLength(1);
  },

  sandbox_ttl_minutes: async (value) => {
    const bench = await createWorkerBench({ ttlMinutes: SETTINGS.sandboxTtlMinutes });
    await request(bench);
    await bench.provision();
    const state = await bench.state();
    const at = (minutes: number): string[] => {
      const now = later(state.request.requested_at, minutes);
      return decide(state, { type: 'ExpireSandbox', data: {}, now }).map(({ type }) => type);
    };
    expect(at(value - MOMENT_MINUTES)).toEqual([]);
    expect(at(value)).toEqual(['SandboxExpiring']);
  },

  max_active_sessions: async (value) => {
    expect(await hasRoom(value - 1)).toBe(true);
    expect(await hasRoom(value)).toBe(false);
  },

  clone_minutes: async (value) => {
    expect((await timeouts()).get('clone')).toBe(value * 60_000);
  },

  setup_minutes: async (value) => {
    expect((await timeouts()).get('setup')).toBe(value * 60_000);
  },

  activity_items: async (value) => {
    const entries = await kept(value - 1, ['last', 'cut', 'gone']);
    expect(entries.map(({ seq }) => seq)).toEqual([value, value + 1]);
    expect(entries.map(({ item }) => item['text'])).toEqual([
      'last',
      expect.stringContaining(`more than ${value} things`),
    ]);
  },

  activity_text_characters: async (value) => {
    const [fits, cut] = await kept(0, ['x'.repeat(value), 'x'.repeat(value + 1)]);
    expect(fits?.item['text']).toBe('x'.repeat(value));
    expect(cut?.item['text']).toMatch(/^x+[^x]/);
  },
};
