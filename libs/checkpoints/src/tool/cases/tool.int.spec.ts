import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { capture } from '../capture.ts';
import { changes, fingerprint } from '../changes-live.ts';
import type {
  CaptureReport,
  ChangesReport,
  ErrorReport,
  RestoreReport,
  UnchangedReport,
} from '../contract.ts';
import {
  captureRequest,
  CONVERSATIONS,
  plainClone,
  readMeta,
  restoreScene,
  stepAside,
} from './case.ts';
import { look } from './look.ts';
import { restore } from '../restore.ts';
import { readState } from './archive.ts';
import { append, closeScene, commit, git, makeScene, remove, write, type Scene } from './scene.ts';

const TOOL = join(dirname(fileURLToPath(import.meta.url)), '../main.ts');

async function withScene(play: (scene: Scene) => Promise<void>): Promise<void> {
  const scene = makeScene('session');
  try {
    await play(scene);
  } finally {
    await closeScene(scene);
  }
}

function edits(scene: Scene): void {
  append(scene, 'a.txt', 'committed\n');
  commit(scene, 'work');
  append(scene, 'b.txt', 'staged\n');
  git(scene, ['add', 'b.txt']);
  append(scene, 'b.txt', 'unstaged\n');
  append(scene, 'c.txt', 'unstaged\n');
  remove(scene, 'dir2/f.txt');
  write(scene, 'new/file.txt', 'untracked\n');
}

/** Bundles main.ts into one file, by the script that the build uses. */
function bundleInto(file: string): void {
  const script = join(dirname(TOOL), '../../../../tools/bundle.ts');
  const result = spawnSync(process.execPath, [script, TOOL, file]);
  expect(result.stderr.toString()).toBe('');
}

function run<T>(
  program: string[],
  command: string,
  request: unknown,
): { status: number; report: T } {
  const result = spawnSync(program[0]!, [...program.slice(1), command], {
    input: JSON.stringify(request),
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: process.env['TMPDIR'] ?? '/tmp' },
  });
  expect(result.stderr.toString()).toBe('');
  return { status: result.status ?? -1, report: JSON.parse(result.stdout.toString()) as T };
}

const restoreRequest = (scene: Scene) => ({
  format: 1,
  work: scene.work,
  home: scene.home,
  parts: scene.parts,
  meta: readMeta(scene),
  remote: true,
  conversation_directories: CONVERSATIONS,
});

describe('the program', () => {
  it('is one file that captures and restores by JSON on stdin and stdout', () =>
    withScene(async (scene) => {
      const file = join(scene.root, 'hangar-checkpoint.mjs');
      bundleInto(file);
      const imports = [...readFileSync(file, 'utf8').matchAll(/^import .* from "([^"]+)"/gm)];
      expect(imports.every(([, name]) => name!.startsWith('node:'))).toBe(true);
      edits(scene);
      const before = look(scene);
      const program = [process.execPath, file];
      const { status, report } = run<CaptureReport>(program, 'capture', captureRequest(scene));
      expect(status).toBe(0);
      expect(report.complete).toBe(true);
      expect(report.parts.map((part) => part.name).sort()).toEqual(readdirSync(scene.parts).sort());
      stepAside(scene);
      plainClone(scene);
      const restored = run<RestoreReport>(program, 'restore', restoreRequest(scene));
      expect(restored.status).toBe(0);
      expect(restored.report.proof).toEqual({ worktree: true, index: true, refs: true });
      expect(look(scene).status).toEqual(before.status);
    }));

  it('answers a bad request and a refused checkpoint with a typed error and exit 1', () =>
    withScene(async (scene) => {
      const program = [process.execPath, TOOL];
      const bad = { ...captureRequest(scene), conversation_directories: ['../..'] };
      const answer = run<ErrorReport>(program, 'capture', bad);
      expect(answer.status).toBe(1);
      expect(answer.report.error.code).toBe('invalid');
      expect(existsSync(join(scene.parts, 'meta.json'))).toBe(false);
      const unknown = run<ErrorReport>(program, 'explode', {});
      expect(unknown.report.error.code).toBe('invalid');
    }));

  it('says base_gone when the base is on no remote and no base.pack is at hand', () =>
    withScene(async (scene) => {
      edits(scene);
      const known = [git(scene, ['rev-parse', 'origin/main'])];
      const report = (await capture(captureRequest(scene, { known_base: known }))) as CaptureReport;
      expect(report.parts.map((part) => part.name)).not.toContain('base.pack');
      expect(report.prerequisites).toEqual(known);
      stepAside(scene);
      mkdirSync(scene.work);
      await expect(restoreScene(scene)).rejects.toMatchObject({ code: 'base_gone' });
    }));
});

describe('capture', () => {
  it('writes nothing when the fingerprint is the known one, and notices every kind of change', () =>
    withScene(async (scene) => {
      edits(scene);
      const request = captureRequest(scene);
      const first = (await fingerprint(request)).fingerprint;
      git(scene, ['status']);
      expect((await fingerprint(request)).fingerprint).toBe(first);
      const again = (await capture({ ...request, unless_fingerprint: first })) as UnchangedReport;
      expect(again).toEqual({ unchanged: true, fingerprint: first });
      expect(existsSync(join(scene.parts, 'meta.json'))).toBe(false);
      const seen = new Set([first]);
      const steps: (() => void)[] = [
        () => append(scene, 'c.txt', 'x'),
        () => git(scene, ['add', 'c.txt']),
        () => write(scene, 'another.txt', 'x'),
        () => chmodSync(join(scene.work, 'a.txt'), 0o600),
        () => git(scene, ['branch', 'name']),
        () => git(scene, ['stash', '-q']),
        () => git(scene, ['config', 'x.y', 'z']),
        () => git(scene, ['update-index', '--assume-unchanged', 'a.txt']),
        () =>
          cpSync(
            join(scene.home, '.claude/projects/demo/talk.jsonl'),
            join(scene.home, '.claude/projects/demo/2.jsonl'),
          ),
      ];
      for (const step of steps) {
        step();
        seen.add((await fingerprint(request)).fingerprint);
      }
      expect(seen.size).toBe(steps.length + 1);
    }));

  it('leaves no meta.json when it fails in the middle', () =>
    withScene(async (scene) => {
      edits(scene);
      const cut = capture(captureRequest(scene), {
        onPhase: (phase) => {
          if (phase === 'written') throw new Error('cut');
        },
      });
      await expect(cut).rejects.toThrow('cut');
      expect(readdirSync(scene.parts)).toEqual([]);
    }));

  it('gives up after three moves with a warning, still restorable', () =>
    withScene(async (scene) => {
      edits(scene);
      let attempts = 0;
      const report = (await capture(captureRequest(scene), {
        onPhase: (phase) => {
          if (phase !== 'written') return;
          git(scene, ['commit', '-q', '--allow-empty', '-m', `moving ${++attempts}`]);
        },
      })) as CaptureReport;
      expect(attempts).toBe(3);
      expect(report.warnings.map((item) => item.reason).join()).toMatch(/kept changing/);
      stepAside(scene);
      plainClone(scene);
      expect((await restoreScene(scene)).proof.worktree).toBe(true);
    }));

  it('keeps the rest and names what another user than root cannot read', () =>
    withScene(async (scene) => {
      edits(scene);
      write(scene, 'secret.txt', 'x\n');
      chmodSync(join(scene.work, 'secret.txt'), 0);
      append(scene, 'a.txt', 'edited, then closed\n');
      chmodSync(join(scene.work, 'a.txt'), 0);
      mkdirSync(scene.parts);
      const root = process.getuid?.() === 0;
      if (root) spawnSync('chown', ['-R', '65534:65534', scene.root]);
      chmodSync(scene.root, 0o755);
      const file = join(scene.root, 'tool.mjs');
      bundleInto(file);
      const other = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
      const as = [...(root ? other : []), process.execPath];
      const { report } = run<CaptureReport>([...as, file], 'capture', captureRequest(scene));
      expect(report.complete).toBe(false);
      expect(report.skipped.map((item) => `${item.path} ${item.reason}`).sort()).toEqual([
        'a.txt unreadable',
        'secret.txt unreadable',
      ]);
      if (root) spawnSync('chown', ['-R', '0:0', scene.root]);
      stepAside(scene);
      plainClone(scene);
      const restored = await restoreScene(scene);
      expect(restored.continuity.untracked.state).toBe('partly');
      expect(readFileSync(join(scene.work, 'new/file.txt'), 'utf8')).toBe('untracked\n');
    }));
});

describe('restore', () => {
  const STEPS = [
    'objects',
    'worktree',
    'tracked',
    'nested',
    'untracked',
    'index',
    'refs',
    'state',
    'conversation',
  ];

  const CLONES = [
    { how: 'a clone', args: [] },
    { how: 'a clone without files', args: ['--no-checkout'] },
  ];

  it.each(CLONES)(
    'into $how can be cut at every step and run again, also with an older checkpoint',
    ({ args }) =>
      withScene(async (scene) => {
        edits(scene);
        const older = look(scene);
        await capture(captureRequest(scene, { out: join(scene.root, 'older') }));
        append(scene, 'a.txt', 'later\n');
        git(scene, ['stash', '-q', '-u']);
        write(scene, 'late.txt', 'x\n');
        git(scene, ['checkout', '-q', '-b', 'late']);
        const newer = look(scene);
        await capture(captureRequest(scene));
        stepAside(scene);
        plainClone(scene, ...args);
        const request = restoreRequest(scene) as Parameters<typeof restore>[0];
        for (const step of STEPS) {
          const cut = restore(request, {
            onStep: (at) => {
              if (at === step) throw new Error(`cut at ${step}`);
            },
          });
          await expect(cut).rejects.toThrow(`cut at ${step}`);
        }
        await restore(request);
        const seen = look(scene);
        expect(Object.keys(seen.files)).toEqual(Object.keys(newer.files));
        expect([seen.status, seen.index, seen.refs, seen.head, seen.state, seen.config]).toEqual([
          newer.status,
          newer.index,
          newer.refs,
          newer.head,
          newer.state,
          newer.config,
        ]);
        rmSync(scene.parts, { recursive: true });
        cpSync(join(scene.root, 'older'), scene.parts, { recursive: true });
        await restoreScene(scene);
        const back = look(scene);
        expect(Object.keys(back.files)).toEqual(Object.keys(older.files));
        expect([back.status, back.index, back.refs, back.head, back.state]).toEqual([
          older.status,
          older.index,
          older.refs,
          older.head,
          older.state,
        ]);
      }),
  );

  it.each(CLONES)('into $how goes on after the process was killed in the middle', ({ args }) =>
    withScene(async (scene) => {
      edits(scene);
      for (let number = 0; number < 400; number++) write(scene, `many/${number}`, `${number}\n`);
      const before = look(scene);
      await capture(captureRequest(scene));
      stepAside(scene);
      plainClone(scene, ...args);
      const env = { ...process.env, TMPDIR: scene.root };
      const child = spawn(process.execPath, [TOOL, 'restore'], { env });
      child.stdin.end(JSON.stringify(restoreRequest(scene)));
      // Killed once it has begun to write files.
      const poll = setInterval(() => {
        if (existsSync(join(scene.work, 'many'))) child.kill('SIGKILL');
      }, 1);
      const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
      clearInterval(poll);
      expect(signal).toBe('SIGKILL');
      await restoreScene(scene);
      const after = look(scene);
      expect(after.status).toEqual(before.status);
      expect(Object.keys(after.files)).toEqual(Object.keys(before.files));
    }),
  );

  it('restores a checkpoint of only the documented five parts', () =>
    withScene(async (scene) => {
      edits(scene);
      await capture(captureRequest(scene));
      for (const name of ['gitstate', 'base.pack', 'changes.json']) {
        rmSync(join(scene.parts, name), { force: true });
      }
      const { head, branch } = readMeta(scene);
      stepAside(scene);
      plainClone(scene);
      const report = await restore({
        format: 1,
        work: scene.work,
        home: scene.home,
        parts: scene.parts,
        meta: { head, branch },
        conversation_directories: CONVERSATIONS,
      });
      expect(report.head).toBe(head);
      expect(git(scene, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/hangar/session/demo');
      expect(git(scene, ['status', '--porcelain']).split('\n')).toEqual([
        ' M b.txt',
        ' M c.txt',
        ' D dir2/f.txt',
        '?? new/',
      ]);
    }));
});

describe('changes', () => {
  it('shows committed, staged, unstaged and untracked files against the base', () =>
    withScene(async (scene) => {
      edits(scene);
      write(scene, 'image.bin', Buffer.from([0, 1, 2]));
      const live = await changes({ format: 1, work: scene.work, base_branch: 'main' });
      await capture(captureRequest(scene, { zstd: false }));
      const stored = spawnSync('zcat', [], {
        input: readFileSync(join(scene.parts, 'changes.json')),
      });
      expect(JSON.parse(stored.stdout.toString()) as ChangesReport).toEqual(live);
      const short = live.files.map((file) => `${file.area} ${file.status} ${file.path}`);
      expect(short).toEqual([
        'committed modified a.txt',
        'staged modified b.txt',
        'unstaged modified b.txt',
        'unstaged modified c.txt',
        'unstaged deleted dir2/f.txt',
        'untracked added image.bin',
        'untracked added new/file.txt',
      ]);
      expect(live.base).toBe(git(scene, ['rev-parse', 'origin/main']));
      expect(live.files[0]?.diff).toContain('+committed');
      expect(live.files[5]).toMatchObject({ binary: true, diff: null });
      expect(live.truncated).toBe(false);
      expect(readState(scene).format).toBe(1);
    }));

  it('stays within its bound and says that it left something out', () =>
    withScene(async (scene) => {
      for (let number = 0; number < 400; number++) {
        write(scene, `big/${number}.txt`, `${number} filler\n`.repeat(2500));
      }
      commit(scene, 'much');
      const view = await changes({ format: 1, work: scene.work, base_branch: 'main' });
      expect(view.truncated).toBe(true);
      expect(Buffer.byteLength(JSON.stringify(view))).toBeLessThanOrEqual(5 * 1024 * 1024);
      expect(view.files).toHaveLength(400);
    }));
});
