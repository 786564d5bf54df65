import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fromText, toReport } from './byte-path.ts';
import { parseConfig, serialiseConfig, type ConfigEntry } from './config-file.ts';
import { mergeConfig, recordConfig } from './configuration.ts';
import { resolveUndoIds } from './git-state.ts';
import { parseIndex, serialiseIndex, ZERO_STAT, type IndexEntry } from './index-file.ts';

const bytes = (max: number) =>
  fc
    .array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: max })
    .map((codes) => String.fromCharCode(...codes));

const entry = fc.record({
  path: bytes(40),
  mode: fc.constantFrom(0o100644, 0o100755, 0o120000, 0o160000),
  id: fc.constantFrom('a'.repeat(40), '0123456789abcdef'.repeat(3).slice(0, 40)),
  stage: fc.integer({ min: 0, max: 3 }),
  assumeUnchanged: fc.boolean(),
  skipWorktree: fc.boolean(),
  intentToAdd: fc.boolean(),
  stat: fc.constant({ ...ZERO_STAT, size: 7, mtimeSeconds: 4_000_000_000 }),
});

describe('the index', () => {
  it('comes back as it was written, sorted by path and stage', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(entry, { selector: (one) => `${one.path}\0${one.stage}`, maxLength: 20 }),
        (entries: IndexEntry[]) => {
          const found = parseIndex(serialiseIndex(entries, 'sha1', null), 'sha1').entries;
          const key = (one: IndexEntry): string => `${one.path}\0${one.stage}`;
          expect(new Map(found.map((one) => [key(one), one]))).toEqual(
            new Map(entries.map((one) => [key(one), one])),
          );
          const sorted = [...found].sort((a, b) => (key(a) < key(b) ? -1 : 1));
          expect(found.map(key)).toEqual(sorted.map(key));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('that is cut or foreign is corrupt, never a crash', () => {
    const whole = serialiseIndex(
      [
        { ...ENTRY, path: 'a' },
        { ...ENTRY, path: 'b' },
      ],
      'sha1',
      Buffer.from('undo'),
    );
    expect(parseIndex(whole, 'sha1').resolveUndo).toEqual(Buffer.from('undo'));
    for (const bad of [Buffer.alloc(0), Buffer.from('PACK'.repeat(20)), whole.subarray(0, 40)]) {
      expect(() => parseIndex(bad, 'sha1')).toThrow(expect.objectContaining({ code: 'corrupt' }));
    }
  });
});

const ENTRY: IndexEntry = {
  path: 'x',
  mode: 0o100644,
  id: 'a'.repeat(40),
  stage: 0,
  assumeUnchanged: false,
  skipWorktree: false,
  intentToAdd: false,
  stat: ZERO_STAT,
};

describe('configuration files', () => {
  const value = fc.option(
    fc.string({ unit: fc.constantFrom('a', 'B', '"', '\\', '#', ';', ' ', '\t', '\n', '=', 'é') }),
  );
  const config = fc.record({
    key: fc
      .tuple(
        fc.constantFrom('core', 'branch', 'x-y'),
        fc.option(fc.string({ unit: fc.constantFrom('a', 'B', '.', '"', '\\', ' ', '/') })),
        fc.constantFrom('name', 'other-1'),
      )
      .map(([section, sub, name]) => [section, ...(sub === null ? [] : [sub]), name].join('.')),
    value,
  });

  it('come back as they were written', () => {
    fc.assert(
      fc.property(fc.array(config, { maxLength: 12 }), (entries: ConfigEntry[]) => {
        const latin1 = entries.map((one) => ({ ...one, value: one.value && fromText(one.value) }));
        const text = serialiseConfig(latin1).toString('latin1');
        expect(parseConfig(text)).toEqual({ entries: latin1, broken: false });
      }),
      { numRuns: 300 },
    );
  });

  it('are read as git reads them', () => {
    const text =
      '# c\n[core] bare = false ; c\n[remote "a.b"]\n\turl = x\\\n y # z\n\tflag\n[Sec.Sub]k="a  b" c\n';
    expect(parseConfig(text).entries).toEqual([
      { key: 'core.bare', value: 'false' },
      { key: 'remote.a.b.url', value: 'x y' },
      { key: 'remote.a.b.flag', value: null },
      { key: 'sec.sub.k', value: 'a  b c' },
    ]);
    expect(parseConfig('[user\n x = 1').broken).toBe(true);
  });

  it('travel without programs, places and credentials, and merge the same twice', () => {
    const own: ConfigEntry[] = [
      { key: 'remote.origin.url', value: '/fresh' },
      { key: 'core.sshcommand', value: 'fresh' },
      { key: 'branch.main.remote', value: 'origin' },
    ];
    const recorded = recordConfig([
      { key: 'user.name', value: 'x' },
      { key: 'credential.helper', value: '!evil' },
      { key: 'remote.fork.url', value: 'https://u:p@host/x' },
      { key: 'remote.origin.url', value: '/old' },
    ]);
    expect(recorded.leftOut).toEqual(['credential.helper', 'remote.fork.url']);
    const merged = mergeConfig(own, recorded.kept);
    expect(merged.map((one) => `${one.key}=${one.value}`)).toEqual([
      'remote.origin.url=/fresh',
      'core.sshcommand=fresh',
      'user.name=x',
    ]);
    expect(mergeConfig(merged, recorded.kept)).toEqual(merged);
  });
});

describe('names in reports', () => {
  it('are UTF-8 where they can be, percent-encoded where not, and never ambiguous', () => {
    expect(toReport(fromText('ü/ok'))).toBe('ü/ok');
    expect(toReport('a\xff')).toBe('a%FF');
    expect(toReport('a%FF')).toBe('a%25FF');
  });
});

describe('the resolve-undo extension', () => {
  it('names an object for each stage that is there', () => {
    const body = Buffer.concat([
      Buffer.from('a.txt\x00100644\x000\x00100644\x00', 'latin1'),
      Buffer.alloc(20, 0xaa),
      Buffer.alloc(20, 0xbb),
    ]);
    expect(resolveUndoIds(body, 20)).toEqual(['aa'.repeat(20), 'bb'.repeat(20)]);
  });
});
