import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TOKEN_FILE, loadKeys } from './local-keys.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hangar-keys-'));
});
afterEach(() => rm(directory, { recursive: true }));

const modeOf = async (name: string): Promise<number> =>
  (await stat(join(directory, name))).mode & 0o777;
const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');

describe('the keys of this machine', () => {
  it('are made once and stay, readable by their user alone', async () => {
    const first = await loadKeys(directory, null);
    expect(await loadKeys(directory, null)).toEqual(first);
    expect(Buffer.from(first.vaultKey, 'base64')).toHaveLength(32);
    expect(new Set(Object.values(first)).size).toBe(5);
    expect([await modeOf('keys.json'), await modeOf(TOKEN_FILE)]).toEqual([0o600, 0o600]);
    expect((await read(TOKEN_FILE)).trim()).toBe(first.adminToken);
  });

  it('get their mode back when somebody opened them', async () => {
    await loadKeys(directory, null);
    await chmod(join(directory, 'keys.json'), 0o644);
    await chmod(join(directory, TOKEN_FILE), 0o644);
    await loadKeys(directory, null);
    expect([await modeOf('keys.json'), await modeOf(TOKEN_FILE)]).toEqual([0o600, 0o600]);
  });

  it('are whole or not there when a start was killed in between', async () => {
    // Half of a file under a temporary name, also under the pid that we have now.
    for (const pid of [1, process.pid])
      await writeFile(join(directory, `keys.json.${pid}`), '{"postgresPa', { mode: 0o644 });
    const keys = await loadKeys(directory, null);
    expect(JSON.parse(await read('keys.json'))).toEqual(keys);
    expect((await readdir(directory)).toSorted()).toEqual(['keys.json', TOKEN_FILE]);
    expect(await modeOf('keys.json')).toBe(0o600);
  });

  it('take the token of the settings, and go back to their own without it', async () => {
    const own = await loadKeys(directory, null);
    const set = await loadKeys(directory, 'hgr_chosen-by-a-person');
    expect(set.adminToken).toBe('hgr_chosen-by-a-person');
    expect((await read(TOKEN_FILE)).trim()).toBe('hgr_chosen-by-a-person');
    expect((await loadKeys(directory, null)).adminToken).toBe(own.adminToken);
  });

  it.each(['', '{', '{}', 'null', '{"vaultKey":"x"}'])(
    'that are damaged (%j) are never made anew: they open what is stored',
    async (text) => {
      await writeFile(join(directory, 'keys.json'), text);
      await expect(loadKeys(directory, null)).rejects.toMatchObject({
        code: 'invalid',
        hint: expect.stringContaining('restore it'),
      });
      expect(await read('keys.json')).toBe(text);
    },
  );
});
