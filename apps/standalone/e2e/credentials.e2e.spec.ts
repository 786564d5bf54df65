import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import { startGitServer, type GitServer } from './git-server.ts';
import { SHAPE, System } from './system.ts';
import { TEST_MS_MAX, WAIT_SECONDS, openWorkplace, shell, type Workplace } from './workplace.ts';

const CERTIFICATE = '/hangar-test/certificate.pem';

jest.setTimeout(TEST_MS_MAX);

describe(`credentials that outlive idleness and rotate (${SHAPE})`, () => {
  let work: Workplace;
  let server: GitServer;
  let root = '';
  let system: System;
  let client: HangarClient;

  const git = (...args: string[]): string =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  beforeAll(async () => {
    work = await openWorkplace();
    root = mkdtempSync(join(tmpdir(), 'hangar-git-'));
    chmodSync(root, 0o755);
    git('clone', '-q', '--bare', work.repo, join(root, 'acme', 'app.git'));
    git('-C', join(root, 'acme', 'app.git'), 'config', 'http.receivepack', 'true');
    server = await startGitServer(root, join(git('--exec-path').trim(), 'git-http-backend'));
    chmodSync(server.certificate, 0o644);
    system = await System.start();
    client = system.client();
    await client.environments.apply('default', recipe());
  });

  afterAll(async () => {
    await system?.dispose();
    await server?.close();
    await work?.dispose();
    rmSync(root, { recursive: true, force: true });
  });

  const recipe = () => ({
    env: { ...work.envVars, GIT_SSL_CAINFO: CERTIFICATE },
    mounts: [{ source: server.certificate, target: CERTIFICATE }],
    git: [{ host: server.host, path: 'acme', secret: 'GIT_TOKEN', username: 'bot' }],
  });

  const rotate = async (token: string): Promise<void> => {
    server.accepted.clear();
    server.accepted.add(token);
    await client.secrets.set({ name: 'GIT_TOKEN', value: token });
  };

  const create = (name: string, more: object = {}) =>
    client.sessions.create(
      {
        name,
        environment: 'default',
        harness: 'fake',
        repo: server.url('acme/app.git'),
        base_branch: 'main',
        ...more,
      },
      { waitSeconds: WAIT_SECONDS },
    );

  it('a private repository is cloned and pushed to with the newest token', async () => {
    await rotate('first-token-4f1c9e');
    const session = await create('git');
    expect(session.state).toBe('IDLE');
    expect(server.seen.at(-1)).toMatchObject({ user: 'bot', password: 'first-token-4f1c9e' });
    await rotate('second-token-77ab3d');
    await shell(client, 'git', 'echo two >two.txt && git add . && git commit -qm two');
    await shell(client, 'git', 'git push -q origin HEAD');
    expect(git('-C', join(root, 'acme', 'app.git'), 'log', '--format=%s', '--all')).toContain(
      'two',
    );
    expect(server.seen.at(-1)).toMatchObject({ password: 'second-token-77ab3d', isGood: true });
    expect(await shell(client, 'git', 'cat .git/config')).not.toContain('token');
  });
});
