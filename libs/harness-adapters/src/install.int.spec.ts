import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installHarness, isHarnessInstalled } from './install.ts';
import { harnessDirectory } from './versions.ts';

let root: string;
const PATH = process.env['PATH'] ?? '';
const quiet = (): void => undefined;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'harness-install-'));
  await mkdir(join(root, 'bin'));
});
afterEach(async () => {
  process.env['PATH'] = PATH;
  await rm(root, { recursive: true, force: true });
});

/** An npm that notes that it was called and then runs `script` in the install directory. */
async function npm(script: string): Promise<void> {
  const lines = ['#!/bin/sh', `echo "$@" >> ${root}/calls`, 'cd "$3"', script, ''];
  await writeFile(join(root, 'bin', 'npm'), lines.join('\n'));
  await chmod(join(root, 'bin', 'npm'), 0o755);
  process.env['PATH'] = `${root}/bin:${PATH}`;
}

const calls = async (): Promise<string[]> =>
  (await readFile(join(root, 'calls'), 'utf8')).trim().split('\n');
const CLAUDE = `node_modules/@anthropic-ai/claude-code-${platform()}-${arch()}`;
const UNPACK = `sleep 0.2; mkdir -p ${CLAUDE} && echo '#!/bin/sh' > ${CLAUDE}/claude`;

describe('installHarness', () => {
  it('installs once, also for several at a time, and links the program', async () => {
    await npm(UNPACK);
    const directory = join(root, 'harnesses');
    const install = (): Promise<string> => installHarness('claude-code', directory, quiet);
    const targets = await Promise.all([install(), install(), install()]);
    expect(new Set(targets).size).toBe(1);
    expect(await install()).toBe(targets[0]);
    expect(await calls()).toHaveLength(1);
    expect((await calls())[0]).toMatch(/--ignore-scripts .*@anthropic-ai\/claude-code@[\d.]+$/);
    const link = join(targets[0] ?? '', 'bin/claude');
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(link, 'utf8')).toContain('#!/bin/sh');
    expect(isHarnessInstalled('claude-code', directory)).toBe(true);
    expect((await readdir(directory)).filter((name) => !name.startsWith('claude-code'))).toEqual(
      [],
    );
    expect((await lstat(targets[0] ?? '')).mode & 0o777).toBe(0o755);
  });

  it('never fetches what npm does not have: it says where to put it, and uses it there', async () => {
    await npm('exit 1');
    const directory = join(root, 'harnesses');
    const program = join(directory, harnessDirectory('antigravity'), 'bin/agy');
    await expect(installHarness('antigravity', directory, quiet)).rejects.toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining(program),
    });
    expect(isHarnessInstalled('antigravity', directory)).toBe(false);
    await mkdir(dirname(program), { recursive: true });
    await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
    expect(await installHarness('antigravity', directory, quiet)).toBe(dirname(dirname(program)));
    expect(isHarnessInstalled('antigravity', directory)).toBe(true);
    await expect(readFile(join(root, 'calls'))).rejects.toThrow('ENOENT');
  });

  it('leaves nothing and says what to do when npm cannot fetch', async () => {
    await npm('echo "npm error code E404" >&2; exit 1');
    const installing = installHarness('claude-code', join(root, 'harnesses'), quiet);
    await expect(installing).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('E404'),
      hint: expect.stringContaining('registry'),
    });
    expect(await readdir(join(root, 'harnesses'))).toEqual([]);
    expect(isHarnessInstalled('claude-code', join(root, 'harnesses'))).toBe(false);
  });

  it('does it again over the leavings of an install that was cut off', async () => {
    await npm(UNPACK);
    const directory = join(root, 'harnesses');
    const target = await installHarness('claude-code', directory, quiet);
    await rm(join(target, '.hangar-installed'));
    await installHarness('claude-code', directory, quiet);
    expect(isHarnessInstalled('claude-code', directory)).toBe(true);
  });

  it('refuses a package without a program for this platform', async () => {
    await npm('mkdir -p node_modules/@openai');
    const installing = installHarness('codex', join(root, 'harnesses'), quiet);
    await expect(installing).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('has nothing to do for the fake harness', async () => {
    expect(await installHarness('fake', root, quiet)).toBe(join(root, 'fake'));
    expect(isHarnessInstalled('fake', root)).toBe(true);
  });
});
