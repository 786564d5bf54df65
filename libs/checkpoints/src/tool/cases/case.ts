import { existsSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { capture, type CaptureHooks } from '../capture.ts';
import type { CaptureReport, CaptureRequest, CheckpointMeta, RestoreReport } from '../contract.ts';
import { restore } from '../restore.ts';
import { listGitDirectory, look, type Look, type LookOptions } from './look.ts';
import { askShared } from './resident.ts';
import {
  closeScene,
  git,
  makeScene,
  readCanary,
  write,
  type Scene,
  type StartPoint,
} from './scene.ts';

/** One state of the table in `docs/formats/checkpoint.md`: built, captured, restored, compared. */
export interface Case {
  name: string;
  start?: StartPoint;
  build?: (scene: Scene) => void | Promise<void>;
  /** What happens to the world between capture and restore. */
  world?: (scene: Scene) => void;
  /** Makes the fresh checkout; the default is a plain clone. */
  clone?: (scene: Scene) => void;
  /** What the environment's set-up does in the fresh checkout. */
  setup?: (scene: Scene) => void;
  look?: LookOptions;
  /** Takes out of both looks what this state cannot keep. */
  adjust?: (look: Look, scene: Scene) => void;
  /** Each must occur in skipped, warnings or losses of the two reports. */
  named?: (string | RegExp)[];
  /** Names that the case may report; any other loss fails it. */
  lossesAllowed?: RegExp;
  request?: Partial<CaptureRequest>;
  hooks?: CaptureHooks;
  /** The repository is changed by the case itself while it is captured. */
  gitDirectoryChanges?: boolean;
  /** More to check at the end. */
  check?: (scene: Scene, found: Found) => void | Promise<void>;
  /** The fresh look is compared with this instead of the first look (concurrent cases). */
  withoutComparison?: boolean;
  proof?: Partial<RestoreReport['proof']>;
}

export interface Found {
  captured: CaptureReport;
  restored: RestoreReport;
  before: Look;
  after: Look;
}

export const CONVERSATIONS = ['.claude/projects', '.codex/sessions', '.pi/agent/sessions'];
const MEBIBYTE = 1024 * 1024;

export const captureRequest = (
  scene: Scene,
  more: Partial<CaptureRequest> = {},
): CaptureRequest => ({
  format: 1,
  checkpoint_id: 'ckp-00000001-1',
  session_id: 'ses-00000001',
  reason: 'turn',
  work: scene.work,
  home: scene.home,
  out: scene.parts,
  conversation_directories: CONVERSATIONS,
  base_branch: 'main',
  harness: 'claude-code',
  cwd: '/workspace/demo',
  caps: {
    part_bytes_max: 100 * MEBIBYTE,
    untracked_bytes_max: 20 * MEBIBYTE,
    file_bytes_max: 100 * MEBIBYTE,
    unpacked_bytes_max: 1024 * MEBIBYTE,
  },
  zstd: true,
  ...more,
});

export const readMeta = (scene: Scene): CheckpointMeta =>
  JSON.parse(readFileSync(join(scene.parts, 'meta.json'), 'utf8')) as CheckpointMeta;

/** The old checkout and HOME step aside: the fresh ones get the same paths. */
export function stepAside(scene: Scene): void {
  renameSync(scene.work, `${scene.work}.before`);
  renameSync(scene.home, `${scene.home}.before`);
  freshHome(scene);
}

function freshHome(scene: Scene): void {
  mkdirSync(scene.home);
  for (const name of ['.gitconfig', '.config', '.gitignore_global']) {
    const from = join(`${scene.home}.before`, name);
    if (existsSync(from)) cpSync(from, join(scene.home, name), { recursive: true });
  }
}

export function plainClone(scene: Scene, ...args: string[]): void {
  const env = { GIT_CONFIG_GLOBAL: '/dev/null' };
  const place = { cwd: scene.root, env };
  git(scene, ['clone', '-q', ...args, scene.origin, scene.work], place);
}

export const restoreScene = (scene: Scene): Promise<RestoreReport> =>
  restore({
    format: 1,
    work: scene.work,
    home: scene.home,
    parts: scene.parts,
    meta: readMeta(scene),
    remote: true,
    conversation_directories: CONVERSATIONS,
  });

/** Everything came back, or what could not is named in the reports. */
export type Outcome = 'exact' | 'reported';

/** As in a sandbox, by a process that has captured other states before, unless a hook is called in it. */
async function captureCase(scene: Scene, one: Case): Promise<CaptureReport> {
  const request = captureRequest(scene, one.request);
  if (one.hooks) return (await capture(request, one.hooks)) as CaptureReport;
  if (!hasCaptured) await captureElsewhere();
  hasCaptured = true;
  return askShared<CaptureReport>('capture', request);
}

let hasCaptured = false;

/** So that the first case is not the first capture either. */
async function captureElsewhere(): Promise<void> {
  const scene = makeScene('session');
  write(scene, 'a.txt', 'other work\n');
  write(scene, 'new.txt', 'elsewhere\n');
  await askShared('capture', captureRequest(scene));
  await closeScene(scene);
}

/** Plays one case to its end. */
export async function playCase(one: Case): Promise<Outcome> {
  const scene = makeScene(one.start ?? 'session');
  try {
    await one.build?.(scene);
    const before = look(scene, one.look);
    const gitBefore = listGitDirectory(scene);
    const captured = await captureCase(scene, one);
    expect(captured.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    const gitAfter = one.gitDirectoryChanges ? gitBefore : listGitDirectory(scene);
    expect(gitAfter).toEqual(gitBefore);
    one.world?.(scene);
    stepAside(scene);
    const found = { captured, before };
    if (!one.clone && !one.setup) {
      plainClone(scene, '--no-checkout');
      await playRestore(scene, one, found);
      // Some states are written to all the time: a file that comes back meanwhile is removed again.
      rmSync(scene.work, { recursive: true, maxRetries: 20, retryDelay: 5 });
      rmSync(scene.home, { recursive: true });
      freshHome(scene);
    }
    if (one.clone) one.clone(scene);
    else plainClone(scene);
    one.setup?.(scene);
    return await playRestore(scene, one, found);
  } finally {
    await closeScene(scene);
  }
}

/** Into the fresh checkout, which may be one without files. */
async function playRestore(
  scene: Scene,
  one: Case,
  { captured, before }: Pick<Found, 'captured' | 'before'>,
): Promise<Outcome> {
  const restored = await restoreScene(scene);
  const after = look(scene, one.look);
  const expected = structuredClone(before);
  for (const seen of [expected, after]) one.adjust?.(seen, scene);
  forgiveTimes(expected, after);
  expect(one.withoutComparison ? expected : after).toEqual(expected);
  const found = { captured, restored, before: expected, after };
  checkReports(scene, one, found);
  await one.check?.(scene, found);
  return one.named || restored.losses.length > 0 ? 'reported' : 'exact';
}

/** Node sets times with a resolution of 238 ns, so one microsecond is no difference. */
export function forgiveTimes(before: Look, after: Look): void {
  for (const [path, value] of Object.entries(after.files)) {
    const old = before.files[path];
    const [, rest, time] = /^(.*) time (\d+)$/.exec(value) ?? [];
    const [, oldRest, oldTime] = /^(.*) time (\d+)$/.exec(old ?? '') ?? [];
    if (rest !== oldRest || Math.abs(Number(time) - Number(oldTime)) !== 1) continue;
    after.files[path] = old!;
  }
}

function checkReports(scene: Scene, one: Case, found: Found): void {
  const { captured, restored, after } = found;
  expect(after.fsck).toBe('');
  expect(readCanary(scene)).toBe('');
  expect(restored.proof).toEqual({ worktree: true, index: true, refs: true, ...one.proof });
  expect(captured.complete).toBe(captured.skipped.length === 0);
  const talk = join(scene.home, '.claude/projects/demo/talk.jsonl');
  expect(readFileSync(talk, 'utf8')).toBe('{"said":"hello"}\n');
  expect(existsSync(join(scene.home, '.claude/credentials.json'))).toBe(false);
  const named = [...captured.skipped, ...captured.warnings, ...restored.losses]
    .map((item) => `${item.path ?? ''}: ${item.reason}`)
    .join('\n');
  for (const name of one.named ?? []) expect(named).toMatch(name);
  const allowed = one.lossesAllowed;
  const unexpected = restored.losses.filter(
    (loss) => !allowed?.test(`${loss.path ?? ''}: ${loss.reason}`),
  );
  expect(unexpected).toEqual([]);
}

/** One test per case, and a line with the group's count at the end. */
export function playAll(group: string, cases: readonly Case[]): void {
  let passed = 0;
  for (const one of cases) {
    it(`${one.name}`, async () => {
      expect(await playCase(one)).toMatch(/^(?:exact|reported)$/);
      passed++;
    });
  }
  afterAll(() => {
    process.stdout.write(`${group}: ${passed} of ${cases.length} states exact or reported\n`);
  });
}
