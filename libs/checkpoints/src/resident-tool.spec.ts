import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import type { SandboxPlace } from '@hangar/contracts';
import {
  createFakeDriver,
  type FakeDriver,
  type FakeExecResult,
} from '@hangar/sandbox-drivers/fake';
import { createResidentTools, SERVERS_MAX, type ResidentTools } from './resident-tool.ts';
import { SandboxGone, ToolRefusal } from './sandbox-tool.ts';
import { inOrder } from './testing/worker-bench.ts';

interface Question {
  id: string;
  verb: string;
  request: Record<string, unknown>;
}

/** What a resident tool says to one question; it ends where it throws. */
type Play = (question: Question, sandbox: string) => AsyncIterable<string> | Iterable<string>;

interface Bench {
  driver: FakeDriver;
  tools: ResidentTools;
  /** The verbs of the processes that were started, oldest first. */
  verbs: () => string[];
  place: (number?: number) => Promise<SandboxPlace>;
  capture: (place: SandboxPlace, more?: Partial<Options>) => Promise<object>;
}

interface Options {
  timeoutMs: number;
  signal: AbortSignal;
}

const placeIn = async (driver: FakeDriver, number: number): Promise<SandboxPlace> => {
  const id = `sbx-${String(number).padStart(8, '0')}-1`;
  const spec = { id, sessionId: 'ses-1', cwd: '/w', envVars: {}, mounts: [], resources: {} };
  const { instance } = await driver.create({ ...spec, network: 'open' });
  const paths = { home: '/home/agent', cwd: '/w', node: '/node', tools: '/tools' };
  return { sandbox_id: id, instance, ...paths, harness_root: '/harness' };
};

const COLD = { by: 'a process of its own' };
const answer = ({ id }: Question, by = 'the resident'): string =>
  `${JSON.stringify({ id, report: { by } })}\n`;

function open(
  play: Play,
  {
    idleMs,
    cold = { stdout: JSON.stringify(COLD) },
  }: { idleMs?: number; cold?: FakeExecResult } = {},
): Bench {
  const driver = createFakeDriver({
    exec: () => cold,
    converse: ({ argv, ref }, stdin) =>
      argv.at(-1) === 'serve' ? talk(play, ref.id, stdin) : null,
  });
  const tools = createResidentTools(inOrder(driver), idleMs);
  return {
    driver,
    tools,
    verbs: () => driver.execs.map(({ argv }) => argv.at(-1)!),
    place: (number = 1) => placeIn(driver, number),
    capture: (place, { timeoutMs = 60_000, signal = new AbortController().signal } = {}) =>
      tools.capture(place, { of: 'work' }, { timeoutMs, signal }),
  };
}

async function* talk(play: Play, sandbox: string, stdin: Readable): AsyncGenerator<string> {
  for await (const line of createInterface({ input: stdin })) {
    yield* play(JSON.parse(line) as Question, sandbox);
  }
}

const never = new Promise<never>(() => undefined);

async function* silence(): AsyncGenerator<string> {
  yield await never;
}

describe('a tool that stays in its sandbox', () => {
  it('is started by the first capture, quietly, and asked again by the next [X4]', async () => {
    const asked: Question[] = [];
    const { driver, place, capture, verbs } = open(function* (question) {
      asked.push(question);
      yield answer(question);
    });
    const here = await place();
    for (let number = 0; number < 3; number++) {
      expect(await capture(here)).toEqual({ by: 'the resident' });
    }
    expect(verbs()).toEqual(['serve']);
    expect(driver.execs[0]).toMatchObject({ quiet: true, cwd: '/home/agent' });
    expect(asked.map(({ verb, request }) => [verb, request])).toEqual(
      Array.from({ length: 3 }, () => ['capture', { of: 'work' }]),
    );
  });

  it('is one for each sandbox and instance', async () => {
    const { place, capture, verbs } = open(function* (question, sandbox) {
      yield answer(question, sandbox);
    });
    const [first, second] = [await place(1), await place(2)];
    expect(await capture(first)).toEqual({ by: first.sandbox_id });
    expect(await capture(second)).toEqual({ by: second.sandbox_id });
    expect(await capture(first)).toEqual({ by: first.sandbox_id });
    expect(verbs()).toEqual(['serve', 'serve']);
  });

  it('leaves a second capture at the same time to a process of its own', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { place, capture } = open(async function* (question) {
      await promise;
      yield answer(question);
    });
    const here = await place();
    const slow = capture(here);
    expect(await capture(here)).toEqual(COLD);
    resolve();
    expect(await slow).toEqual({ by: 'the resident' });
  });

  it('passes a refusal on without another try, and starts anew after it', async () => {
    let asked = 0;
    const { place, capture, verbs } = open(function* (question) {
      const error = { code: 'too_large', message: 'no' };
      yield asked++ === 0 ? `${JSON.stringify({ id: question.id, error })}\n` : answer(question);
    });
    const here = await place();
    const refused = capture(here);
    await expect(refused).rejects.toBeInstanceOf(ToolRefusal);
    await expect(refused).rejects.toMatchObject({ code: 'too_large' });
    expect(await capture(here)).toEqual({ by: 'the resident' });
    expect(verbs()).toEqual(['serve', 'serve']);
  });
});

describe('what goes wrong with it', () => {
  const bad: [string, Play][] = [
    [
      'ends',
      () => {
        throw new Error('killed');
      },
    ],
    [
      'says what is not JSON',
      function* () {
        yield 'Segmentation fault\n';
      },
    ],
    [
      'answers what was not asked',
      function* () {
        yield answer({ id: '7', verb: '', request: {} });
      },
    ],
    [
      'answers without an id',
      function* () {
        yield '{"report":{}}\n';
      },
    ],
    [
      'answers with null',
      function* () {
        yield 'null\n';
      },
    ],
    [
      'answers twice',
      function* (question) {
        yield answer(question) + answer(question);
      },
    ],
    [
      'says more than a report can be',
      function* () {
        const chunk = ' '.repeat(1024 * 1024);
        for (let number = 0; number < 40; number++) yield chunk;
      },
    ],
    ['never answers', () => silence()],
  ];

  it.each(bad)(
    'one that %s is ended, and a process of its own takes the capture',
    async (_, play) => {
      const { driver, place, capture, verbs } = open(play);
      const here = await place();
      expect(await capture(here, { timeoutMs: 50 })).toEqual(COLD);
      expect(await capture(here, { timeoutMs: 50 })).toEqual(COLD);
      expect(verbs()).toEqual(['serve', 'capture', 'serve', 'capture']);
      expect(driver.execs.every(({ quiet }) => quiet)).toBe(true);
    },
  );

  it('a late answer to an earlier question is dropped', async () => {
    const { place, capture, verbs } = open(function* (question) {
      if (question.id !== '1') yield answer({ ...question, id: '1' }, 'an old one');
      yield answer(question, `number ${question.id}`);
    });
    const here = await place();
    expect(await capture(here)).toEqual({ by: 'number 1' });
    expect(await capture(here)).toEqual({ by: 'number 2' });
    expect(verbs()).toEqual(['serve']);
  });

  it('a report that is no object is refused', async () => {
    const { place, capture } = open(function* ({ id }) {
      yield `${JSON.stringify({ id, report: [] })}\n`;
    });
    await expect(capture(await place())).rejects.toMatchObject({ code: 'invalid' });
  });

  it('only one more call is made when that fails too', async () => {
    const { place, capture, verbs } = open(bad[0]![1], { cold: { stdout: 'not JSON' } });
    await expect(capture(await place())).rejects.toMatchObject({ code: 'unavailable' });
    expect(verbs()).toEqual(['serve', 'capture']);
  });

  it('a sandbox that goes is gone, whether it was asked before or not', async () => {
    const bench = open(async function* (question) {
      if (question.id === '1') yield answer(question);
      else await never;
    });
    const here = await bench.place();
    await bench.capture(here);
    const asked = bench.capture(here);
    bench.driver.vanish(here.sandbox_id);
    await expect(asked).rejects.toBeInstanceOf(SandboxGone);
    await expect(bench.capture(here)).rejects.toBeInstanceOf(SandboxGone);
    expect(bench.verbs()).toEqual(['serve']);
  });

  it('a driver that cannot be asked is not a sandbox that is gone [S5]', async () => {
    const { driver, place, capture } = open(() => []);
    const here = await place();
    driver.faults.isUnreachable = true;
    await expect(capture(here)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('an aborted capture ends it and is not taken otherwise', async () => {
    const began = Promise.withResolvers<void>();
    let isHeld = true;
    const { place, capture, verbs } = open(async function* (question) {
      began.resolve();
      if (isHeld) await never;
      yield answer(question);
    });
    const here = await place();
    const stop = new AbortController();
    const asked = capture(here, { signal: stop.signal });
    await began.promise;
    stop.abort(new Error('lost the lease'));
    await expect(asked).rejects.toThrow('lost the lease');
    expect(verbs()).toEqual(['serve']);
    isHeld = false;
    expect(await capture(here)).toEqual({ by: 'the resident' });
    expect(verbs()).toEqual(['serve', 'serve']);
  });
});

describe('how long it stays', () => {
  const counted = (options: { idleMs?: number } = {}) => {
    const ended: string[] = [];
    const { promise: firstEnd, resolve } = Promise.withResolvers<void>();
    const driver = createFakeDriver({
      exec: () => ({ stdout: JSON.stringify(COLD) }),
      converse: (_, stdin) =>
        talk(
          function* (question) {
            yield answer(question);
          },
          '',
          stdin,
        ),
    });
    const io = inOrder({
      ...driver,
      exec: async (ref, request) => {
        const stream = await driver.exec(ref, request);
        void stream.exit.then(() => {
          ended.push(ref.id);
          resolve();
        });
        return stream;
      },
    });
    return { ended, firstEnd, driver, tools: createResidentTools(io, options.idleMs) };
  };

  const options = { timeoutMs: 60_000, signal: new AbortController().signal };

  it('is ended when nothing was asked for long', async () => {
    const { ended, firstEnd, driver, tools } = counted({ idleMs: 1 });
    const here = await placeIn(driver, 1);
    await tools.capture(here, {}, options);
    await firstEnd;
    expect(ended).toEqual([here.sandbox_id]);
    await tools.close();
  });

  it(`the one that has waited longest makes room above ${SERVERS_MAX}`, async () => {
    const { ended, driver, tools } = counted();
    const places: SandboxPlace[] = [];
    for (let number = 0; number <= SERVERS_MAX; number++)
      places.push(await placeIn(driver, number));
    for (const place of places.slice(0, SERVERS_MAX)) await tools.capture(place, {}, options);
    await tools.capture(places[0]!, {}, options);
    expect(ended).toEqual([]);
    await tools.capture(places.at(-1)!, {}, options);
    expect(ended).toEqual([places[1]!.sandbox_id]);
    await tools.close();
    expect(ended).toHaveLength(SERVERS_MAX + 1);
  });

  it('all are ended at the close, and none is started after it', async () => {
    const { ended, driver, tools } = counted();
    const here = await placeIn(driver, 1);
    await tools.capture(here, {}, options);
    await tools.close();
    expect(ended).toEqual([here.sandbox_id]);
    expect(await tools.capture(here, {}, options)).toEqual(COLD);
  });
});
