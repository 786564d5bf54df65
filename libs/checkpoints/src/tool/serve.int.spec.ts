import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { captureRequest, readMeta } from './cases/case.ts';
import { ResidentTool } from './cases/resident.ts';
import { append, closeScene, commit, git, makeScene, write, type Scene } from './cases/scene.ts';
import { capture } from './capture.ts';
import type { CaptureReport } from './contract.ts';
import { serve, type ServeLimits } from './serve.ts';
import { ToolError } from './tool-error.ts';

async function withTool(
  play: (tool: ResidentTool, scene: Scene, other: Scene) => Promise<void>,
): Promise<void> {
  const scenes = [makeScene('session'), makeScene('session')] as const;
  const tool = new ResidentTool();
  try {
    await play(tool, ...scenes);
  } finally {
    await tool.close();
    for (const scene of scenes) await closeScene(scene);
  }
}

const take = async (tool: ResidentTool, scene: Scene, more = {}): Promise<CaptureReport> => {
  const answer = await tool.ask('capture', captureRequest(scene, more));
  expect(answer).toMatchObject({ report: { fingerprint: expect.any(String) } });
  return answer!.report as CaptureReport;
};

/** What a process that has seen nothing before says of the same state. */
const afresh = async (scene: Scene): Promise<string> =>
  ((await capture(captureRequest(scene))) as CaptureReport).fingerprint;

const hashes = ({ parts }: CaptureReport): string[] =>
  parts
    .filter(({ name }) => name !== 'meta.json')
    .map(({ name, sha256 }) => `${name} ${sha256}`)
    .sort();

describe('a tool that stays', () => {
  it('answers many requests, each of the repository as it is then [C1]', () =>
    withTool(async (tool, scene) => {
      const changes = [
        () => append(scene, 'a.txt', 'one\n'),
        () => write(scene, 'dir/new.txt', 'two\n'),
        () => void commit(scene, 'three'),
        () => git(scene, ['rm', '-q', 'c.txt']),
        () => git(scene, ['mv', 'dir2/f.txt', 'moved.txt']),
        () => git(scene, ['checkout', '-q', 'origin/side']),
      ];
      const seen = new Set<string>([(await take(tool, scene)).fingerprint]);
      for (const change of changes) {
        change();
        const report = await take(tool, scene);
        expect(report.fingerprint).toBe(await afresh(scene));
        seen.add(report.fingerprint);
      }
      expect(seen.size).toBe(changes.length + 1);
    }));

  it('makes the same parts as one that has seen nothing before', () =>
    withTool(async (tool, scene, other) => {
      append(other, 'b.txt', 'of another\n');
      await take(tool, other);
      append(scene, 'a.txt', 'changed\n');
      write(scene, 'new.txt', 'new\n');
      const warm = await take(tool, scene);
      const cold = (await capture(captureRequest(scene))) as CaptureReport;
      expect(hashes(warm)).toEqual(hashes(cold));
    }));

  it('serves two repositories in turn, at the same path after one is gone too', () =>
    withTool(async (tool, scene, other) => {
      append(scene, 'a.txt', 'here\n');
      append(other, 'a.txt', 'there\n');
      const first = await take(tool, scene);
      const second = await take(tool, other);
      expect(readMeta(other).worktree_tree).not.toBe(readMeta(scene).worktree_tree);
      expect((await take(tool, scene)).fingerprint).toBe(first.fingerprint);
      execFileSync('mv', [scene.work, `${scene.work}.away`]);
      execFileSync('cp', ['-a', other.work, scene.work]);
      append(scene, 'a.txt', 'once more\n');
      const third = await take(tool, scene);
      expect(third.fingerprint).toBe(await afresh(scene));
      expect(third.fingerprint).not.toBe(first.fingerprint);
      expect(second.fingerprint).toBe((await take(tool, other)).fingerprint);
    }));

  it('refuses a bad request and then takes a good one', () =>
    withTool(async (tool, scene) => {
      expect(await tool.say('{"id":"x",')).toMatchObject({ id: null, error: { code: 'invalid' } });
      expect(await tool.say('[]')).toMatchObject({ id: null, error: { code: 'invalid' } });
      const refused = await tool.ask('capture', { work: 'here' });
      expect(refused).toMatchObject({ error: { code: 'invalid' } });
      expect(await tool.ask('restore', {})).toMatchObject({ error: { code: 'invalid' } });
      await take(tool, scene);
    }));

  it('leaves nothing between requests: no scratch, no directory that it is in', () =>
    withTool(async (tool, scene) => {
      const own = mkdtempSync(join(scene.root, 'tmp-'));
      const apart = new ResidentTool([], { ...process.env, TMPDIR: own });
      await take(apart, scene);
      await apart.ask('fingerprint', captureRequest(scene));
      expect(readdirSync(own)).toEqual([]);
      await apart.close();
      await take(tool, scene);
      expect(readlinkSync(`/proc/${tool.child.pid}/cwd`)).toBe(process.cwd());
    }));

  it('ends after a failure that may have left work under way, having said what it was', () =>
    withTool(async (tool, scene) => {
      git(scene, ['config', 'extensions.refstorage', 'reftable']);
      const answer = await tool.ask('capture', captureRequest(scene));
      expect(answer).toMatchObject({ error: { code: 'unsupported' } });
      expect(await tool.exit).toBe(0);
    }));

  it('is killed in the middle: no meta.json, and the next one takes it', () =>
    withTool(async (tool, scene) => {
      const asked = tool.ask('capture', captureRequest(scene));
      tool.child.kill('SIGKILL');
      expect(await asked).toBeNull();
      const next = new ResidentTool();
      await take(next, scene);
      expect(readMeta(scene).complete).toBe(true);
      await next.close();
    }));

  it('ends when its stdin ends', () =>
    withTool(async (tool, scene) => {
      await take(tool, scene);
      tool.child.stdin.end();
      expect(await tool.exit).toBe(0);
    }));

  it('dies when memory runs out, without an answer', () =>
    withTool(async (tool, scene) => {
      const small = new ResidentTool(['--max-old-space-size=8', '--max-semi-space-size=1']);
      const text = 'x'.repeat(8 * 1024 * 1024);
      const more = { known_base: Array.from({ length: 4 }, () => text) };
      expect(await small.ask('capture', captureRequest(scene, more))).toBeNull();
      expect(await small.exit).not.toBe(0);
      await take(tool, scene);
    }));
});

/** Everything that waits to be read, in however many chunks. */
const allOf = (output: PassThrough): string => {
  let text = '';
  for (let chunk: unknown = output.read(); chunk !== null; chunk = output.read())
    text += String(chunk);
  return text;
};

describe('the loop of a tool that stays', () => {
  /** The process of the specs is as large as it is: that is no limit here, unless one is given. */
  const start = (run: () => Promise<unknown>, limits: Partial<ServeLimits> = {}) => {
    const input = new PassThrough();
    const output = new PassThrough();
    return {
      input,
      output,
      done: serve(run, input, output, { residentBytesMax: Infinity, ...limits }),
    };
  };
  const LINE = '{"id":"1","verb":"capture","request":{}}\n';

  it('ends by itself when nothing is asked', async () => {
    const { input, output, done } = start(async () => ({}), { idleMs: 1 });
    await done;
    expect([input.destroyed, output.read()]).toEqual([true, null]);
  });

  it('does not count the time of a request as idle', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const { input, output, done } = start(() => promise, { idleMs: 20 });
    input.write(LINE);
    setTimeout(() => resolve({ late: true }), 60);
    expect(String((await once(output, 'data'))[0])).toBe('{"id":"1","report":{"late":true}}\n');
    await done;
  });

  it('answers in order, however the lines arrive', async () => {
    let number = 0;
    const { input, output, done } = start(async () => ++number);
    const lines = [1, 2, 3].map((id) => `{"id":"${id}","verb":"changes","request":{}}\n`).join('');
    for (const piece of lines.match(/.{1,7}|\n/gs)!) input.write(piece);
    input.end();
    await done;
    expect(allOf(output)).toBe([1, 2, 3].map((id) => `{"id":"${id}","report":${id}}\n`).join(''));
  });

  it('ends after an answer when it has come to hold too much', async () => {
    const { input, output, done } = start(async () => 1, { residentBytesMax: 1 });
    input.write(LINE.repeat(2));
    await done;
    expect(allOf(output)).toBe('{"id":"1","report":1}\n');
  });

  it('goes on after a request that was not valid, and ends after another failure', async () => {
    const failures = [new ToolError('invalid', 'no'), new ToolError('time_limit', 'slow')];
    const { input, output, done } = start(async () => {
      throw failures.shift()!;
    });
    input.write(LINE.repeat(3));
    await done;
    const codes = allOf(output).trim().split('\n');
    expect(codes.map((line: string) => JSON.parse(line).error.code)).toEqual([
      'invalid',
      'time_limit',
    ]);
  });

  it('ends without an answer when something failed that has no code', async () => {
    const { input, output, done } = start(async () => {
      throw new RangeError('Array buffer allocation failed');
    });
    input.write(LINE);
    await expect(done).rejects.toThrow(RangeError);
    expect(output.read()).toBeNull();
  });
});
