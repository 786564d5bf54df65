import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import type { SessionDocument } from '@hangar/contracts';
import {
  startModelServer,
  type ModelServer,
} from '../../../tools/model-server/src/model-server.ts';

/** A real repository, a scripted model, and what a run needs to reach it. */
export interface Workplace {
  repo: string;
  model: ModelServer;
  envVars: Record<string, string>;
  git(...args: string[]): string;
  dispose(): Promise<void>;
}

const AUTHOR = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];

export async function openWorkplace(): Promise<Workplace> {
  const directory = mkdtempSync(join(tmpdir(), 'hangar-work-'));
  chmodSync(directory, 0o755);
  const repo = join(directory, 'app.git');
  const seed = join(directory, 'seed');
  const git = (...args: string[]): string =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  git('init', '-q', '--bare', '-b', 'main', repo);
  git('init', '-q', '-b', 'main', seed);
  writeFileSync(join(seed, 'a.txt'), 'one\n');
  writeFileSync(join(seed, 'README.md'), '# app\n');
  git('-C', seed, 'add', '.');
  git('-C', seed, ...AUTHOR, 'commit', '-qm', 'first');
  git('-C', seed, 'push', '-q', repo, 'main');
  const model = await startModelServer();
  return {
    repo,
    model,
    envVars: {
      ANTHROPIC_API_KEY: 'test-key',
      ANTHROPIC_BASE_URL: model.url,
      OPENAI_API_KEY: 'test-key',
      OPENAI_BASE_URL: `${model.url}/v1`,
    },
    git: (...args) => git('-C', repo, ...args),
    dispose: async () => {
      await model.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export const MODEL: Record<string, string | undefined> = {
  'claude-code': 'claude-sonnet-4-5',
  codex: 'gpt-5.5',
  pi: 'claude-sonnet-4-5',
  fake: undefined,
};

/** A turn that commits, leaves a change in the tree, one in the index, and an untracked file. */
export const WORK =
  '[[ run: echo two > b.txt && git add b.txt && git commit -qm second && echo changed >> a.txt ' +
  '&& echo staged > s.txt && git add s.txt && echo loose > u.txt ;; say: The word is pelican. ]]';

export const WAIT_SECONDS = 90;
/** For a failing test only; a machine that has other work takes many times what a quiet one does. */
export const TEST_MS_MAX = 240_000;
/** How often a condition is looked at: often enough to be quick, seldom enough to cost little. */
const LOOK_MS = 100;

export async function defineEnvironment(
  client: HangarClient,
  work: Workplace,
  name = 'default',
): Promise<void> {
  await client.environments.apply(name, { env: work.envVars });
}

/** Polls until the condition holds; the bound is there for a failing test only. */
export async function sessionWhere(
  client: HangarClient,
  ref: string,
  condition: (s: SessionDocument) => boolean,
  withinMs = 60_000,
  everyMs = LOOK_MS,
): Promise<SessionDocument> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const session = await client.sessions.get(ref);
    if (condition(session)) return session;
    if (Date.now() > deadline)
      throw new Error(`not reached: ${JSON.stringify(session, null, 1).slice(0, 4000)}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

export async function shell(client: HangarClient, ref: string, script: string): Promise<string> {
  const done = await client.sandboxes.exec(ref, { argv: ['sh', '-c', script] });
  if (done.exit_code !== 0)
    throw new Error(`${script}: ${done.exit_code} ${done.stdout} ${done.stderr}`);
  return done.stdout ?? '';
}

/** What the acceptance asks to come back: history, index, tree and loose files. */
export const LOOK =
  'git log --format=%s; git status --porcelain; cat a.txt b.txt s.txt u.txt; git branch --show-current';

/** Polls until it is so; the bound is there for a failing test only. */
export async function until(
  what: string,
  condition: () => Promise<boolean>,
  withinMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** A person tries again when hangar was away; each call here may be repeated. */
export async function again<T>(call: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + WAIT_SECONDS * 1000;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const { code } = error as { code?: string };
      if ((code !== 'unavailable' && code !== 'conflict') || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

/** For stories in which each message is a turn of its own: it waits, where it would steer otherwise. */
export const queueing = (client: HangarClient): HangarClient => ({
  ...client,
  sessions: {
    ...client.sessions,
    send: (ref, body, options) => client.sessions.send(ref, { mode: 'queue', ...body }, options),
    sendAndWait: (ref, body, options) =>
      client.sessions.sendAndWait(ref, { mode: 'queue', ...body }, options),
  },
});
