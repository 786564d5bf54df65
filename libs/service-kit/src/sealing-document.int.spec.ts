import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sealStream } from './sealing.ts';
import { Vault } from './vault.ts';

/** The script of the document is what a person is left with when hangar is gone. */
const DOCUMENT = fileURLToPath(new URL('../../../docs/formats/sealing.md', import.meta.url));

describe('the script of docs/formats/sealing.md', () => {
  let directory: string;
  let script: string;
  let lineCount: number;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hangar-sealing-'));
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(await readFile(DOCUMENT, 'utf8')) ?? [];
    lineCount = code.trim().split('\n').length;
    script = join(directory, 'open-part.mjs');
    await writeFile(script, code);
  });
  afterAll(async () => {
    await rm(directory, { recursive: true });
  });

  it('is short enough to be typed', () => {
    expect(lineCount).toBeGreaterThan(10);
    expect(lineCount).toBeLessThanOrEqual(40);
  });

  async function openByHand(
    sealed: Buffer,
    wrapped: string,
    vaultKeys: Buffer[],
  ): Promise<{ status: number | null; stdout: Buffer }> {
    const file = join(directory, 'part');
    await writeFile(file, sealed);
    const HANGAR_VAULT_KEY = vaultKeys.map((key) => key.toString('base64')).join(',');
    return spawnSync(process.execPath, [script, file, 'ckp-1/wip.patch', wrapped, 'ckp-1'], {
      env: { HANGAR_VAULT_KEY },
      maxBuffer: 10_000_000,
    });
  }

  it.each([0, 5, 65_536, 200_000])('opens a part of %d bytes', async (size) => {
    const keys = [randomBytes(32), randomBytes(32)];
    const vault = new Vault([keys[1]!]);
    const dataKey = vault.newDataKey();
    const plain = randomBytes(size);
    const source = Readable.from(size === 0 ? [] : [plain]);
    const sealed = await buffer(source.compose(sealStream(dataKey, 'ckp-1/wip.patch')));
    const opened = await openByHand(sealed, vault.wrap(dataKey, 'ckp-1'), keys);
    expect(opened.status).toBe(0);
    expect(plain.equals(opened.stdout)).toBe(true);
    const cut = sealed.subarray(0, -1);
    expect((await openByHand(cut, vault.wrap(dataKey, 'ckp-1'), keys)).status).not.toBe(0);
  });
});
