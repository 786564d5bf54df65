import { describe, expect, it } from '@jest/globals';
import { Vault, vaultKeyId } from './vault.ts';

const young = Buffer.alloc(32, 1);
const old = Buffer.alloc(32, 2);
const invalid = expect.objectContaining({ name: 'HangarError', code: 'invalid' });

describe('Vault', () => {
  it('unseals what it sealed, text and bytes, also nothing', () => {
    const vault = new Vault([young]);
    for (const plain of ['', 'secret é', 'x'.repeat(100_000)]) {
      const sealed = vault.seal(plain, 'a');
      expect(sealed.byteLength).toBe(Buffer.byteLength(plain) + 36);
      expect(vault.unseal(sealed, 'a').toString()).toBe(plain);
    }
    expect(vault.unseal(vault.seal(Buffer.from([0, 255]), ''), '')).toEqual(Buffer.from([0, 255]));
  });

  it('never gives the same bytes twice', () => {
    const vault = new Vault([young]);
    expect(vault.seal('x', 'a').equals(vault.seal('x', 'a'))).toBe(false);
  });

  it('opens nothing that was changed in any byte, cut or extended', () => {
    const vault = new Vault([young]);
    const sealed = vault.seal('secret', 'owner');
    for (let at = 0; at < sealed.byteLength; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(() => vault.unseal(changed, 'owner')).toThrow(invalid);
    }
    for (let length = 0; length < sealed.byteLength; length += 1) {
      expect(() => vault.unseal(sealed.subarray(0, length), 'owner')).toThrow(invalid);
    }
    expect(() => vault.unseal(Buffer.concat([sealed, Buffer.alloc(1)]), 'owner')).toThrow(invalid);
  });

  it('opens nothing in another place', () => {
    const vault = new Vault([young]);
    expect(() => vault.unseal(vault.seal('x', 'alice'), 'bob')).toThrow(invalid);
    const key = vault.newDataKey();
    const value = vault.seal(key, 'a').toString('base64url');
    expect(() => vault.unwrap(value, 'a')).toThrow(invalid);
    const wrapped = Buffer.from(vault.wrap(key, 'a'), 'base64url');
    expect(() => vault.unseal(wrapped, 'a')).toThrow(invalid);
  });

  it('wraps a data key as text that names the vault key', () => {
    const vault = new Vault([young]);
    const key = vault.newDataKey();
    const wrapped = vault.wrap(key, 'ckp-1');
    expect(wrapped).toMatch(/^[A-Za-z0-9_-]{91}$/);
    expect(Buffer.from(wrapped, 'base64url').toString('hex', 4, 8)).toBe(vault.keyId);
    expect(vault.unwrap(wrapped, 'ckp-1').equals(key)).toBe(true);
    expect(() => vault.wrap(Buffer.alloc(31), 'a')).toThrow(invalid);
    expect(() => vault.unwrap('not base64!', 'a')).toThrow(invalid);
  });

  it('goes through a rotation: old opens, new seals, then the old key can go', () => {
    const before = new Vault([old]);
    const key = before.newDataKey();
    const wrapped = before.wrap(key, 'a');
    const both = new Vault([young, old]);
    expect(both.unwrap(wrapped, 'a').equals(key)).toBe(true);
    expect(both.isStale(Buffer.from(wrapped, 'base64url'))).toBe(true);
    const rewrapped = both.rewrap(wrapped, 'a');
    expect(both.rewrap(rewrapped, 'a')).toBe(rewrapped);
    const after = new Vault([young]);
    expect(after.unwrap(rewrapped, 'a').equals(key)).toBe(true);
    expect(() => after.unwrap(wrapped, 'a')).toThrow(`vault key ${vaultKeyId(old)}`);
    expect(after.keyId).toBe('72cd6e84');
  });

  it('refuses keys it cannot use', () => {
    expect(() => new Vault([])).toThrow(invalid);
    expect(() => new Vault([Buffer.alloc(16)])).toThrow(invalid);
    expect(() => new Vault(Array.from({ length: 17 }, () => young))).toThrow(invalid);
    expect(() => new Vault([young]).seal(Buffer.alloc(1024 * 1024 + 1), 'a')).toThrow(invalid);
  });
});
