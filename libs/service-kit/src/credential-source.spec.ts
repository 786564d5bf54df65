import { describe, expect, it } from '@jest/globals';
import { CredentialSource } from './credential-source.ts';
import type { CredentialCommand, CredentialQuestion } from './credential-command.ts';

const ADA = { owner: 'ada', environment: 'web', session: 'ses-1a2b3c4d' };
const WISH = { kind: 'secret', name: 'TOKEN' } as const;

function bench(lifeMs: number | null, secrets: Record<string, Record<string, string>> = {}) {
  const clock = { ms: Date.parse('2030-01-01T00:00:00Z') };
  const asked: CredentialQuestion[] = [];
  const command: CredentialCommand = async (question) => {
    asked.push(question);
    const expiresAt = lifeMs === null ? null : new Date(clock.ms + lifeMs);
    return { value: `minted-${asked.length}`, expiresAt };
  };
  const store = {
    reveal: async (owner: string, names: readonly string[]) => {
      const own = secrets[owner] ?? {};
      const there = names.filter((name) => name in own);
      return {
        values: new Map(there.map((name) => [name, own[name]!])),
        missing: names.filter((name) => !(name in own)),
      };
    },
  };
  const now = (): Date => new Date(clock.ms);
  const source = new CredentialSource({ store, command, now });
  const get = async (asker = ADA, wish: Parameters<typeof source.get>[1] = WISH) =>
    (await source.get(asker, wish)).value;
  return { clock, asked, secrets, source, get, alone: { store, command: null, now } };
}

describe('a credential', () => {
  it("is the owner's secret as it is now, and no other owner's", async () => {
    const { secrets, get, asked } = bench(null, { ada: { TOKEN: 'first' }, bob: {} });
    expect(await get()).toBe('first');
    secrets['ada'] = { TOKEN: 'second' };
    expect(await get()).toBe('second');
    expect(asked).toEqual([]);
    expect(await get({ ...ADA, owner: 'bob' })).toBe('minted-1');
  });

  it('is refused with what to do when it was revoked and no command is there', async () => {
    const { alone } = bench(null);
    const get = new CredentialSource(alone).get(ADA, WISH);
    await expect(get).rejects.toMatchObject({
      code: 'conflict',
      message: 'the environment names secrets that are not set: TOKEN',
      hint: 'set each with: hangar secret set TOKEN',
    });
  });

  it('of a command is asked for anew when it has no end', async () => {
    const { get } = bench(null);
    expect([await get(), await get()]).toEqual(['minted-1', 'minted-2']);
  });

  it.each([
    ['3600 s', 3_600_000, 60_000],
    ['60 s', 60_000, 15_000],
  ])('that is good for %s is kept until a margin before its end', async (_life, lifeMs, left) => {
    const { clock, get } = bench(lifeMs);
    expect(await get()).toBe('minted-1');
    clock.ms += lifeMs - left - 1;
    expect(await get()).toBe('minted-1');
    clock.ms += 1;
    expect(await get()).toBe('minted-2');
  });

  it('that has ended already is not kept', async () => {
    const { get } = bench(-1);
    expect([await get(), await get()]).toEqual(['minted-1', 'minted-2']);
  });

  it('is kept for one session, name and place only', async () => {
    const { get } = bench(3_600_000);
    const git = { kind: 'git', name: 'TOKEN', host: 'h', path: 'a' } as const;
    const askers = [ADA, { ...ADA, session: 'ses-2' }, { ...ADA, owner: 'bob' }];
    const values = [
      ...(await Promise.all(askers.map((asker) => get(asker)))),
      await get(ADA, git),
      await get(ADA, { ...git, path: 'b' }),
      await get(ADA, git),
    ];
    expect(new Set(values).size).toBe(5);
    expect(values.at(-1)).toBe(values[3]);
  });

  it('that somebody was refused with is not given again; another value is kept', async () => {
    const { source, get } = bench(3_600_000);
    await get();
    source.forget(ADA, WISH, 'something else');
    expect(await get()).toBe('minted-1');
    source.forget(ADA, WISH, 'minted-1');
    expect(await get()).toBe('minted-2');
  });

  it('that many ask for at once is asked for once', async () => {
    const { get, asked } = bench(3_600_000);
    const values = await Promise.all(Array.from({ length: 8 }, () => get()));
    expect(new Set(values)).toEqual(new Set(['minted-1']));
    expect(asked).toEqual([{ ...ADA, ...WISH }]);
  });
});

describe('variables of a run', () => {
  it('come from the store and, what is not there, from the command', async () => {
    const { source, alone } = bench(null, { ada: { A: 'a' } });
    expect(await source.reveal(ADA, ['A', 'B'])).toEqual({ A: 'a', B: 'minted-1' });
    expect(await source.reveal(ADA, [])).toEqual({});
    await expect(new CredentialSource(alone).reveal(ADA, ['A', 'B', 'C'])).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('B, C'),
    });
  });
});
