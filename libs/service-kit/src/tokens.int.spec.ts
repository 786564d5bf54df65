import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startPostgres, type EmbeddedPostgres } from './embedded/index.ts';
import { ACCESS_TOKEN_TABLE_SQL } from './postgres/access-token.sql.ts';
import { TOKENS_PER_OWNER_MAX } from '@hangar/contracts';
import { allows, CACHED_TOKENS_MAX, newToken, TokenStore } from './tokens.ts';

const BOOTSTRAP = 'bootstrap-token-of-the-test';
const REVOCATION_SEEN_MILLIS_MAX = 5_000;

describe('TokenStore', () => {
  let directory: string;
  let server: EmbeddedPostgres;
  let pool: pg.Pool;
  let nowMillis: number;
  let queries: number;
  const clock = { now: () => new Date(nowMillis), monotonicMillis: () => nowMillis };
  const counting = (): Pick<pg.Pool, 'query'> => ({
    query: ((sql: string, parameters: unknown[]) => {
      queries += 1;
      return pool.query(sql, parameters);
    }) as pg.Pool['query'],
  });
  const open = (): TokenStore =>
    new TokenStore(counting(), { clock, bootstrapToken: BOOTSTRAP, bootstrapOwner: 'root' });
  let store: TokenStore;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hangar-tokens-'));
    server = await startPostgres({ directory, port: 0, password: 'test' });
    pool = new pg.Pool({ connectionString: server.url, max: 8 });
    await Promise.all(Array.from({ length: 8 }, () => pool.query(ACCESS_TOKEN_TABLE_SQL)));
    await pool.query(ACCESS_TOKEN_TABLE_SQL);
  });
  afterAll(async () => {
    // Its connections may still be closing when the server stops, and say so.
    pool.on('error', () => undefined);
    await pool.end();
    await server.stop();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    await pool.query('truncate access_token');
    nowMillis = Date.parse('2030-01-01T00:00:00Z');
    queries = 0;
    store = open();
  });

  it('resolves what it created to the owner and all that the scope holds', async () => {
    const { token, description } = await store.create({
      owner: 'alice',
      name: 'laptop',
      scope: 'write',
    });
    expect(token).toMatch(/^hgr_[0-9A-Za-z]{32}$/);
    expect(description).toMatchObject({ owner: 'alice', name: 'laptop', revokedAt: null });
    const principal = await store.resolve(token);
    expect(principal).toEqual({
      owner: 'alice',
      scopes: ['write', 'read'],
      token_id: description.tokenId,
    });
    expect(allows(principal!, 'read')).toBe(true);
    expect(allows(principal!, 'admin')).toBe(false);
    await expect(open().resolve(token)).resolves.toEqual(principal);
  });

  it('keeps only the hash', async () => {
    const { token } = await store.create({ owner: 'alice', name: 'a', scope: 'read' });
    const { rows } = await pool.query(
      'select row_to_json(access_token)::text as row from access_token',
    );
    const stored = (rows[0] as { row: string }).row;
    expect(stored).not.toContain(token.slice(4));
    expect(stored).not.toContain(Buffer.from(token.slice(4)).toString('hex'));
  });

  it('knows nothing of other tokens, and asks no database about what is none', async () => {
    await store.create({ owner: 'alice', name: 'a', scope: 'read' });
    await expect(store.resolve(newToken())).resolves.toBeNull();
    queries = 0;
    for (const text of ['', 'hgr_', 'hgr_short', `hgr_${'a'.repeat(33)}`, 'x'.repeat(1_000_000)]) {
      await expect(store.resolve(text)).resolves.toBeNull();
    }
    expect(queries).toBe(0);
  });

  it('resolves the bootstrap token without a row or a database', async () => {
    await expect(store.resolve(BOOTSTRAP)).resolves.toMatchObject({
      owner: 'root',
      scopes: ['admin', 'write', 'read'],
      token_id: expect.stringMatching(/^tok-[0-9a-f]{8}$/),
    });
    expect(queries).toBe(0);
    const without = new TokenStore(pool, { clock });
    await expect(without.resolve(BOOTSTRAP)).resolves.toBeNull();
    await expect(without.resolve('')).resolves.toBeNull();
  });

  it('forgets a token it revoked at once, and one that another revoked within 5 s', async () => {
    const other = open();
    const { token, description } = await store.create({ owner: 'a', name: 'a', scope: 'read' });
    await expect(store.resolve(token)).resolves.not.toBeNull();
    await expect(other.resolve(token)).resolves.not.toBeNull();
    queries = 0;
    await expect(store.resolve(token)).resolves.not.toBeNull();
    expect(queries).toBe(0);
    await expect(store.revoke(description.tokenId, 'a')).resolves.toBe(true);
    await expect(store.resolve(token)).resolves.toBeNull();
    nowMillis += REVOCATION_SEEN_MILLIS_MAX - 500;
    await expect(other.resolve(token)).resolves.toBeNull();
  });

  it('does not hold on to a token that was revoked while it was being looked up', async () => {
    const { token, description } = await store.create({ owner: 'a', name: 'a', scope: 'read' });
    const slow = new TokenStore(
      {
        query: (async (sql: string, parameters: unknown[]) => {
          const answer = await pool.query(sql, parameters);
          await store.revoke(description.tokenId, null);
          nowMillis += 3_000;
          return answer;
        }) as pg.Pool['query'],
      },
      { clock },
    );
    await slow.resolve(token);
    nowMillis += 1_500;
    await expect(slow.resolve(token)).resolves.toBeNull();
  });

  it('revokes only for the owner, or for nobody in particular, and again', async () => {
    const { description } = await store.create({ owner: 'alice', name: 'a', scope: 'read' });
    await expect(store.revoke(description.tokenId, 'bob')).resolves.toBe(false);
    await expect(store.revoke('tok-00000000', null)).resolves.toBe(false);
    await expect(store.revoke(description.tokenId, null)).resolves.toBe(true);
    const revokedAt = (await store.list('alice'))[0]?.revokedAt;
    nowMillis += 60_000;
    await expect(store.revoke(description.tokenId, 'alice')).resolves.toBe(true);
    expect((await store.list('alice'))[0]?.revokedAt).toEqual(revokedAt);
  });

  it('lets a token expire', async () => {
    const expiresAt = new Date(nowMillis + 60_000);
    const { token } = await store.create({ owner: 'a', name: 'a', scope: 'read', expiresAt });
    await expect(store.resolve(token)).resolves.not.toBeNull();
    nowMillis += 60_001;
    await expect(store.resolve(token)).resolves.toBeNull();
  });

  it('lists the tokens of one owner, or of all, newest first', async () => {
    for (const [owner, name] of [
      ['alice', '1'],
      ['bob', '2'],
      ['alice', '3'],
    ] as const) {
      await store.create({ owner, name, scope: 'read' });
      nowMillis += 1_000;
    }
    const names = async (owner: string | null): Promise<string[]> =>
      (await store.list(owner)).map(({ name }) => name);
    await expect(names('alice')).resolves.toEqual(['3', '1']);
    await expect(names(null)).resolves.toEqual(['3', '2', '1']);
    await expect(names('nobody')).resolves.toEqual([]);
  });

  it('bounds the tokens of an owner; revoked ones make room', async () => {
    const made = [];
    for (let at = 0; at < TOKENS_PER_OWNER_MAX; at += 1) {
      made.push(await store.create({ owner: 'a', name: `${at}`, scope: 'read' }));
    }
    const more = { owner: 'a', name: 'more', scope: 'read' } as const;
    await expect(store.create(more)).rejects.toMatchObject({ code: 'exhausted' });
    await store.revoke(made[0]!.description.tokenId, 'a');
    await expect(store.create(more)).resolves.toBeDefined();
  });

  it('bounds the cache: the token that was not asked for longest goes first', async () => {
    const { token } = await store.create({ owner: 'a', name: 'a', scope: 'read' });
    const { description } = await store.create({ owner: 'b', name: 'b', scope: 'read' });
    const anyRow = new TokenStore(
      {
        query: (async (_sql: string, [hash]: [Buffer]) => {
          queries += 1;
          return { rows: [{ ...description, scope: 'read', token_hash: hash }] };
        }) as unknown as pg.Pool['query'],
      },
      { clock },
    );
    await anyRow.resolve(token);
    for (let at = 0; at < CACHED_TOKENS_MAX; at += 1) await anyRow.resolve(newToken());
    queries = 0;
    await anyRow.resolve(token);
    expect(queries).toBe(1);
  });

  it.each([
    [{ owner: '', name: 'a', scope: 'read' }],
    [{ owner: 'a b', name: 'a', scope: 'read' }],
    [{ owner: 'a', name: '', scope: 'read' }],
    [{ owner: 'a', name: 'a\nb', scope: 'read' }],
    [{ owner: 'a', name: 'a', scope: 'root' as 'read' }],
  ] as const)('refuses to make %j', async (wanted) => {
    await expect(store.create(wanted)).rejects.toMatchObject({ code: 'invalid' });
  });

  it('throws instead of saying "wrong token" when Postgres is away', async () => {
    const away = new pg.Pool({ connectionString: 'postgres://u:p@127.0.0.1:1/x' });
    const lost = new TokenStore(away, { clock });
    await expect(lost.resolve(newToken())).rejects.toMatchObject({ code: 'unavailable' });
    await away.end();
  });
});

describe('newToken', () => {
  it('uses every character about as often', () => {
    const counts = new Map<string, number>();
    for (let made = 0; made < 2_000; made += 1) {
      for (const character of newToken().slice(4)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(62);
    // 64,000 draws over 62: 1032 each; ten standard deviations either way.
    for (const count of counts.values()) expect(Math.abs(count - 1_032)).toBeLessThan(320);
  });
});
