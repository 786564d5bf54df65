import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SandboxPlace } from '@hangar/contracts';
import type { SandboxDriver, SandboxIo } from '@hangar/sandbox-drivers';
import { createLocalDriver } from '@hangar/sandbox-drivers/local';
import { buildToolsDirectory, newSpec, until } from '@hangar/sandbox-drivers/testing';
import { createResidentTools } from './resident-tool.ts';
import { SandboxGone } from './sandbox-tool.ts';

const BUNDLE = fileURLToPath(new URL('../../../tools/bundle.ts', import.meta.url));
const TOOL = fileURLToPath(new URL('tool/main.ts', import.meta.url));
const REPOSITORY =
  'git init -q -b main app && cd app && git config user.name A && git config user.email a@b.c && ' +
  'echo one >a.txt && git add . && git commit -qm one';

describe('a tool that stays in a real sandbox', () => {
  let driver: SandboxDriver;
  let tools: string;
  let stateDirectory: string;

  beforeAll(async () => {
    tools = await buildToolsDirectory();
    const bundled = join(tools, 'hangar-checkpoint.mjs');
    await promisify(execFile)(process.execPath, [BUNDLE, TOOL, bundled]);
    stateDirectory = mkdtempSync(join(tmpdir(), 'hangar-state-'));
    const nodeBinary = process.execPath;
    driver = createLocalDriver({ stateDirectory, toolsDirectory: tools, nodeBinary });
  });

  afterAll(async () => {
    for (const { id } of await driver.list()) await driver.destroy(id);
    await driver.close();
    for (const path of [tools, stateDirectory]) rmSync(path, { recursive: true, force: true });
  });

  const open = async (): Promise<{
    place: SandboxPlace;
    sh: (script: string) => Promise<string>;
  }> => {
    const ref = await driver.create(newSpec());
    const status = await driver.get(ref.id);
    if (status?.phase !== 'ready') throw new Error('the sandbox is not ready');
    const { home, workspace, node, tools: inside } = status.paths;
    const sh = async (script: string): Promise<string> => {
      const exec = await driver.exec(ref, { argv: ['bash', '-c', script], cwd: workspace });
      const [out, err] = await Promise.all([text(exec.stdout), text(exec.stderr)]);
      expect({ err, exit: await exec.exit }).toEqual({
        err: '',
        exit: { kind: 'exited', code: 0 },
      });
      return out;
    };
    const about = { sandbox_id: ref.id, instance: ref.instance, harness_root: '/harness' };
    const place = { ...about, home, node, tools: inside, cwd: join(workspace, 'app') };
    await sh(REPOSITORY);
    return { place, sh };
  };

  const requestIn = ({ cwd, home }: SandboxPlace): object => ({
    format: 1,
    checkpoint_id: 'ckp-00000001-1',
    session_id: 'ses-00000001',
    reason: 'turn',
    work: cwd,
    home,
    out: join(home, '.hangar/checkpoints/one'),
    conversation_directories: [],
    harness: 'fake',
    cwd,
    caps: {
      part_bytes_max: 1e8,
      untracked_bytes_max: 1e8,
      file_bytes_max: 1e8,
      unpacked_bytes_max: 1e8,
    },
    zstd: true,
  });

  it('takes one capture after another, is replaced when it is killed, and holds up no destroy', async () => {
    const { place, sh } = await open();
    const verbs: string[] = [];
    const io: SandboxIo = {
      ...driver,
      exec: (ref, request) => {
        verbs.push(request.argv.at(-1)!);
        return driver.exec(ref, request);
      },
    };
    const residents = createResidentTools(io);
    const signal = new AbortController().signal;
    const capture = (): Promise<object> =>
      residents.capture(place, requestIn(place), { timeoutMs: 60_000, signal });
    const seen = new Set<string>();
    for (const change of ['true', 'echo two >>app/a.txt', 'echo three >app/new.txt']) {
      await sh(change);
      seen.add(((await capture()) as { fingerprint: string }).fingerprint);
    }
    expect(seen.size).toBe(3);
    expect(verbs).toEqual(['serve']);
    await sh('pkill -KILL -f "[h]angar-checkpoint.mjs serve"');
    await until(
      'it has ended',
      async () => (await sh('pgrep -fc "[h]angar-checkpoint.mjs serve" || true')) === '0\n',
    );
    expect(await capture()).toMatchObject({ complete: true });
    expect(await capture()).toMatchObject({ complete: true });
    expect(verbs.filter((verb) => verb === 'serve')).toHaveLength(2);
    await driver.destroy(place.sandbox_id);
    await expect(capture()).rejects.toBeInstanceOf(SandboxGone);
    await residents.close();
  }, 120_000);
});
