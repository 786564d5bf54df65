import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recipeSchema } from '@hangar/contracts';
import type { SandboxDriver, SandboxRef } from '@hangar/sandbox-drivers';
import { createLocalDriver } from '@hangar/sandbox-drivers/local';
import { buildToolsDirectory } from '@hangar/sandbox-drivers/testing';
import { eventually } from '@hangar/testing';
import { CHECKOUT_SCRIPT } from './checkout.ts';
import { MIRROR, createMirrors, type Mirrors } from './mirrors.ts';
import { runCommand } from './run-command.ts';

const recipe = recipeSchema.parse({ name: 'default' });
const AUTHOR = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
const OWNER = 'owner:ada';
const WORK = '/workspace/app';

describe('a mirror of a remote', () => {
  let root = '';
  let tools = '';
  let url = '';
  let driver: SandboxDriver;
  let mirrors: Mirrors;
  const errors: unknown[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'hangar-mirrors-'));
    await chmod(root, 0o755);
    tools = await buildToolsDirectory();
    const remote = join(root, 'app.git');
    const git = (...args: string[]): void => void execFileSync('git', args, { stdio: 'ignore' });
    git('init', '-q', '--bare', '-b', 'main', remote);
    git('clone', '-q', remote, join(root, 'seed'));
    for (const subject of ['first', 'second'])
      git('-C', join(root, 'seed'), ...AUTHOR, 'commit', '--allow-empty', '-qm', subject);
    git('-C', join(root, 'seed'), 'push', '-q', 'origin', 'HEAD:main');
    url = `file://${remote}`;
    const stateDirectory = join(root, 'state');
    await mkdir(stateDirectory);
    const nodeBinary = process.execPath;
    driver = createLocalDriver({ stateDirectory, toolsDirectory: tools, nodeBinary });
    mirrors = createMirrors({
      directory: join(stateDirectory, 'mirrors'),
      driver,
      credentials: { serve: () => undefined, forget: async () => undefined },
      now: () => new Date(),
      onError: (error) => errors.push(error),
    });
  }, 60_000);

  afterAll(async () => {
    await mirrors?.close();
    for (const { id } of (await driver?.list()) ?? []) await driver.destroy(id);
    await driver?.close();
    await rm(root, { recursive: true, force: true });
    await rm(tools, { recursive: true, force: true });
  });

  const feeders = async (): Promise<string[]> =>
    (await driver.list()).map(({ id }) => id).filter((id) => id.startsWith('feed-'));

  const fed = async (owner: string): Promise<string> => {
    const path = await mirrors.open(owner, url);
    if (path === null) throw new Error('no mirror');
    mirrors.feed(owner, url, recipe);
    await eventually(async () => existsSync(join(path, 'fed')) && (await feeders()).length === 0);
    return path;
  };

  const openSandbox = async (id: string, mirror: string): Promise<SandboxRef> =>
    driver.create({
      id,
      sessionId: `ses-${id}`,
      cwd: WORK,
      envVars: {},
      network: 'open',
      mounts: [
        { source: join(root, 'app.git'), target: join(root, 'app.git'), readOnly: true },
        { source: mirror, target: MIRROR, readOnly: true },
      ],
      resources: {},
    });

  const shell = async (ref: SandboxRef, argv: string[]): Promise<string> => {
    const done = await runCommand(driver, ref, { argv, timeoutMs: 30_000 });
    const status = await driver.get(ref.id);
    if (status?.phase !== 'ready') throw new Error('the sandbox ended');
    return `${done.kind === 'exited' ? done.code : done.kind}\n${done.output}`;
  };

  const checkOut = async (ref: SandboxRef): Promise<string> => {
    const status = await driver.get(ref.id);
    if (status?.phase !== 'ready') throw new Error('the sandbox ended');
    const { workspace, mounts } = status.paths;
    const values = [url, 'main', 'work', `${workspace}/app`, 'resume', mounts[MIRROR] ?? '', ''];
    return shell(ref, ['sh', '-c', CHECKOUT_SCRIPT, 'checkout', ...values]);
  };

  it('lends a clone what it has, with the whole history', async () => {
    const ref = await openSandbox('sbx-00000001-1', await fed(OWNER));
    expect(await checkOut(ref)).toBe('0\n');
    const script =
      'cd /workspace/app && git log --format=%s && git count-objects -v | ' +
      'grep -E "^(count|in-pack):" && git branch --show-current && git status --porcelain';
    const out = await shell(ref, ['bash', '-c', script]);
    expect(out).toBe('0\nsecond\nfirst\ncount: 0\nin-pack: 0\nwork');
  }, 60_000);

  it('cannot be changed from a sandbox that borrows from it', async () => {
    const ref = await openSandbox('sbx-00000002-1', await fed(OWNER));
    expect(await shell(ref, ['sh', '-c', `echo x >${MIRROR}/HEAD`])).toMatch(/Read-only/);
  }, 60_000);

  it('is fed again by the user of another sandbox', async () => {
    const path = await fed(OWNER);
    await rm(join(path, 'fed'));
    await fed(OWNER);
    expect(errors).toEqual([]);
  }, 60_000);

  it('is one per owner, and none for a path', async () => {
    const [mine, theirs] = [await mirrors.open(OWNER, url), await mirrors.open('owner:bob', url)];
    expect(mine).not.toBe(theirs);
    expect(await readdir(theirs ?? '')).toEqual([]);
    expect(await mirrors.open(OWNER, join(root, 'app.git'))).toBeNull();
  });
});
