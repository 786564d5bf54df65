import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startPostgres, type EmbeddedPostgres } from './embedded/index.ts';
import { SECRET_TABLE_SQL } from './postgres/secret.sql.ts';
import { SECRETS_PER_OWNER_MAX } from '@hangar/contracts';
import { SecretStore } from './secrets.ts';
import { Vault } from './vault.ts';

const clock = { now: () => new Date('2030-01-02T03:04:05.678Z') };
const young = Buffer.alloc(32, 1);
const old = Buffer.alloc(32, 2);
const invalid = { name: 'HangarError', code: 'invalid' };

describe('SecretStore', () => {
  let directory: string;
  let server: EmbeddedPostgres;
  let pool: pg.Pool;
  let store: SecretStore;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hangar-secrets-'));
    server = await startPostgres({ directory, port: 0, password: 'test' });
    pool = new pg.Pool({ connectionString: server.url, max: 8 });
    await Promise.all(Array.from({ length: 8 }, () => pool.query(SECRET_TABLE_SQL)));
    await pool.query(SECRET_TABLE_SQL);
  });
  afterAll(async () => {
    // Its connections may still be closing when the server stops, and say so.
    pool.on('error', () => undefined);
    await pool.end();
    await server.stop();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    await pool.query('truncate secret');
    store = new SecretStore(pool, new Vault([young]), clock);
  });

  it('sets, replaces, lists without values, reveals and deletes', async () => {
    await expect(store.set('alice', 'NPM_TOKEN', 'first')).resolves.toEqual({
      name: 'NPM_TOKEN',
      version: 1,
      updatedAt: clock.now(),
    });
    await expect(store.set('alice', 'NPM_TOKEN', 'second é\n')).resolves.toMatchObject({
      version: 2,
    });
    await store.set('alice', 'A', 'x');
    const listed = await store.list('alice');
    expect(listed.map(({ name, version }) => [name, version])).toEqual([
      ['A', 1],
      ['NPM_TOKEN', 2],
    ]);
    expect(JSON.stringify(listed)).not.toContain('second');
    const { values, missing } = await store.reveal('alice', ['NPM_TOKEN', 'NOT_THERE', 'A']);
    expect(Object.fromEntries(values)).toEqual({ NPM_TOKEN: 'second é\n', A: 'x' });
    expect(missing).toEqual(['NOT_THERE']);
    await store.delete('alice', 'NPM_TOKEN');
    await store.delete('alice', 'NPM_TOKEN');
    await expect(store.reveal('alice', ['NPM_TOKEN'])).resolves.toEqual({
      values: new Map(),
      missing: ['NPM_TOKEN'],
    });
  });

  it('keeps owners apart', async () => {
    await store.set('alice', 'KEY', 'of alice');
    await store.set('bob', 'KEY', 'of bob');
    await store.delete('bob', 'KEY');
    await expect(store.list('bob')).resolves.toEqual([]);
    expect((await store.reveal('alice', ['KEY'])).values.get('KEY')).toBe('of alice');
    expect((await store.reveal('bob', ['KEY'])).missing).toEqual(['KEY']);
  });

  it('keeps no plain value in the table, and opens no row copied to another owner', async () => {
    await store.set('alice', 'KEY', 'plain-value-of-alice');
    const { rows } = await pool.query('select * from secret');
    const bytes = (rows[0] as { sealed: Buffer }).sealed;
    expect(bytes.includes('plain-value')).toBe(false);
    await pool.query("insert into secret select 'mallory', name, sealed, 1, now() from secret");
    await expect(store.reveal('mallory', ['KEY'])).rejects.toMatchObject(invalid);
    await pool.query("update secret set name = 'OTHER' where owner = 'alice'");
    await expect(store.reveal('alice', ['OTHER'])).rejects.toMatchObject(invalid);
  });

  it.each([
    ['1ST', 'x'],
    ['WITH-DASH', 'x'],
    ['', 'x'],
    ["'; drop table secret; --", 'x'],
    ['A'.repeat(129), 'x'],
    ['EMPTY', ''],
    ['ZERO', 'a\0b'],
    ['HALF', '\ud800'],
    ['LONG', 'x'.repeat(65_537)],
  ])('refuses the name %j or its value, with a hint', async (name, value) => {
    await expect(store.set('alice', name, value)).rejects.toMatchObject({
      ...invalid,
      hint: expect.stringMatching(/\S/),
    });
    await expect(store.list('alice')).resolves.toEqual([]);
  });

  it('counts every version when many set the same secret', async () => {
    const sets = Array.from({ length: 16 }, (_, at) => store.set('alice', 'KEY', `value ${at}`));
    const versions = (await Promise.all(sets)).map(({ version }) => version);
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1));
  });

  it('is exhausted above the limit, but replaces at the limit', async () => {
    await pool.query(
      "insert into secret select 'alice', 'N' || n, '', 1, now() from generate_series(1, $1) n",
      [SECRETS_PER_OWNER_MAX],
    );
    await expect(store.set('alice', 'ONE_MORE', 'x')).rejects.toMatchObject({ code: 'exhausted' });
    await expect(store.set('alice', 'N1', 'x')).resolves.toMatchObject({ version: 2 });
    await expect(store.set('bob', 'N1', 'x')).resolves.toMatchObject({ version: 1 });
  });

  it('seals anew after a rotation, over several pages, and keeps versions', async () => {
    const before = new SecretStore(pool, new Vault([old]), clock);
    for (let at = 0; at < 120; at += 1)
      await before.set(`owner-${at % 3}`, `N${at}`, `value ${at}`);
    const rotating = new SecretStore(pool, new Vault([young, old]), clock);
    await rotating.set('owner-0', 'N0', 'changed');
    await expect(rotating.reseal()).resolves.toBe(119);
    await expect(rotating.reseal()).resolves.toBe(0);
    const { values } = await store.reveal('owner-0', ['N0', 'N3']);
    expect(Object.fromEntries(values)).toEqual({ N0: 'changed', N3: 'value 3' });
    const versions = (await store.list('owner-1')).map(({ version }) => version);
    expect(new Set(versions)).toEqual(new Set([1]));
  });

  it('seals anew what it can where the key of some is missing, and says how many are left', async () => {
    await new SecretStore(pool, new Vault([Buffer.alloc(32, 9)]), clock).set('alice', 'A', 'x');
    await new SecretStore(pool, new Vault([old]), clock).set('alice', 'B', 'y');
    const rotating = new SecretStore(pool, new Vault([young, old]), clock);
    await expect(rotating.reseal()).rejects.toThrow('1 secrets were not sealed anew');
    const { values } = await new SecretStore(pool, new Vault([young]), clock).reveal('alice', [
      'B',
    ]);
    expect(values.get('B')).toBe('y');
  });

  it('says which vault key is missing', async () => {
    await new SecretStore(pool, new Vault([old]), clock).set('alice', 'KEY', 'x');
    await expect(store.reveal('alice', ['KEY'])).rejects.toMatchObject({
      code: 'invalid',
      hint: expect.stringContaining('HANGAR_VAULT_KEY'),
    });
  });

  it('is unavailable, without any value in the error, when Postgres is away', async () => {
    const away = new pg.Pool({ connectionString: 'postgres://u:secretpw@127.0.0.1:1/x' });
    const lost = new SecretStore(away, new Vault([young]), clock);
    const failure = await lost.set('alice', 'KEY', 'plain-value').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'unavailable', hint: expect.stringMatching(/\S/) });
    expect(JSON.stringify(failure)).not.toMatch(/plain-value|secretpw/);
    await away.end();
  });
});
