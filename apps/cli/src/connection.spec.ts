import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findConnection } from './connection.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'hangar-cli-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const write = (path: string, text: string, mode = 0o600): string => {
  const whole = join(cwd, path);
  mkdirSync(join(whole, '..'), { recursive: true });
  writeFileSync(whole, text);
  chmodSync(whole, mode);
  return whole;
};
const find = (env: Record<string, string> = {}, over: { url?: string; tokenFile?: string } = {}) =>
  findConnection({ env, cwd, root: join(cwd, 'root'), ...over });

describe('the server', () => {
  it('is the one of the flag, the variable, then this machine', () => {
    const env = { HANGAR_URL: 'https://hangar.example.test/' };
    expect(find(env, { url: 'http://a:1' }).url).toBe('http://a:1');
    expect(find(env).url).toBe('https://hangar.example.test');
    expect(find().url).toBe('http://127.0.0.1:7700');
  });

  it.each(['hangar.example', 'ftp://x', 'http://me:secret@x'])('is not %s', (url) => {
    expect(() => find({}, { url })).toThrow(/not the address/);
  });
});

describe('the token', () => {
  it('is the one of the flag, the variable, then the local state', () => {
    write('mine', ' one\n');
    write('.hangar/token', 'local\n');
    const env = { HANGAR_TOKEN: 'variable' };
    expect(find(env, { tokenFile: 'mine' })).toMatchObject({ token: 'one', tokenIsOpen: false });
    expect(find(env)).toMatchObject({ token: 'variable', tokenSource: 'HANGAR_TOKEN' });
    expect(find()).toMatchObject({ token: 'local', tokenSource: join(cwd, '.hangar/token') });
  });

  it('is looked for in HANGAR_STATE, else here, else where the checkout keeps its state', () => {
    write('root/.hangar/token', 'of the checkout');
    expect(find().token).toBe('of the checkout');
    write('state/token', 'of the state');
    expect(find({ HANGAR_STATE: 'state' }).token).toBe('of the state');
  });

  it('of this machine is never sent to another', () => {
    write('.hangar/token', 'local');
    for (const url of [
      'http://10.0.0.1:7700',
      'https://127.0.0.1.example.test',
      'http://localhost.x',
    ]) {
      const found = find({ HANGAR_URL: url });
      expect(found.token).toBeUndefined();
      expect(found.tokenSource).toMatch(/only for a server on this machine/);
    }
    for (const url of ['http://localhost:1', 'http://127.0.0.2:1', 'http://[::1]:1'])
      expect(find({ HANGAR_URL: url }).token).toBe('local');
  });

  it('is known to be open to others', () => {
    write('.hangar/token', 'local', 0o644);
    expect(find().tokenIsOpen).toBe(true);
  });

  it('may be missing, with the reason', () => {
    expect(find()).toMatchObject({
      token: undefined,
      tokenSource: expect.stringMatching(/^none: no/),
    });
  });

  it.each([
    ['missing', /no token file/],
    ['empty', /is empty/],
    ['large', /does not look like/],
  ])('file that is %s is refused', (name, what) => {
    write('empty', '\n');
    write('large', 'x'.repeat(5000));
    expect(() => find({}, { tokenFile: name })).toThrow(what);
  });
});
