import { describe, expect, it } from '@jest/globals';
import { createRedactor, redactShapes, type Redactor } from './redact.ts';

const MIB = 1024 * 1024;
/** Of the processor, not of the clock: a linear pass takes well below one, a quadratic one minutes. */
const REDACT_MILLIS_MAX = 4_000;
const random = (length: number): string =>
  'aB3dE5gH7jK9mN1pQ2sT4vW6xY8z'.repeat(9).slice(0, length);

const PRIVATE_KEY = [
  '-----BEGIN OPENSSH PRIVATE KEY-----',
  random(70),
  random(64),
  'abcd==',
  '-----END OPENSSH PRIVATE KEY-----',
].join('\n');

describe('a text that goes on', () => {
  const join = (redact: Redactor, pieces: string[]): string => {
    let waiting = '';
    let told = '';
    for (const piece of pieces) {
      waiting += piece;
      const cut = redact.safeCut(waiting);
      told += redact(waiting.slice(0, cut));
      waiting = waiting.slice(cut);
    }
    return told + redact(waiting);
  };

  it.each([
    ['one secret', ['abcdefgh'], '.abcdefgh.abcdefg.bcdefgh.'],
    ['one that begins as it ends', ['abcabcab'], '.abcabcabcab.abcab.cabcabcabcabcab.'],
    ['one that is the beginning of another', ['abcdef', 'abcdefghij'], '.abcdefghi.abcdefghij.'],
    ['two that overlap', ['abcdef', 'defxyz'], '.abcdefxyz.abcdefxy.defxyabcdef.'],
    ['one inside another', ['cdef', 'abcdefgh'], '.abcdefg.abcdefgh.abcdef'],
  ])('is redacted as a whole, wherever it is cut: %s', (_, values, text) => {
    const redact = createRedactor(values.map((value) => ({ name: 'A', value })));
    const whole = redact(text);
    for (let one = 0; one <= text.length; one += 1)
      for (let two = one; two <= text.length; two += 1) {
        const pieces = [text.slice(0, one), text.slice(one, two), text.slice(two)];
        expect([pieces, join(redact, pieces)]).toEqual([pieces, whole]);
      }
    expect(join(redact, text.split(''))).toBe(whole);
  });

  it('is told at once where no secret is near, and whole without secrets', () => {
    const redact = createRedactor([{ name: 'A', value: 'abcdefgh' }]);
    expect(redact.safeCut('nothing here')).toBe(12);
    expect(redact.safeCut('only abc')).toBe(5);
    expect(redact.safeCut('all of abcdefgh.')).toBe(16);
    expect(createRedactor([]).safeCut('only abc')).toBe(8);
  });
});

describe('known secrets', () => {
  const value = 'p@ss/w+rd "quoted"\\ 7é';
  const redact = createRedactor([{ name: 'DB_PASSWORD', value }]);

  it.each([
    ['as it is', value],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(value)).slice(3, -3)],
    ['in a URL', encodeURIComponent(value)],
    ['in a URL, small letters', encodeURIComponent(value).replace(/%../g, (c) => c.toLowerCase())],
    ['in a form', encodeURIComponent(value).replaceAll('%20', '+')],
    ['as base64', Buffer.from(value).toString('base64')],
    ['as base64url', Buffer.from(value).toString('base64url')],
  ])('are hidden %s', (_, form) => {
    const text = redact(`before ${form} after`);
    expect(text).toBe('before [redacted DB_PASSWORD] after');
  });

  it.each(['', 'u', 'us', 'user', 'x-access-token'])(
    'are hidden inside Basic credentials of the user %j',
    (user) => {
      const secret = { name: 'TOKEN', value: 'plain-looking-value' };
      const basic = Buffer.from(`${user}:${secret.value}`).toString('base64');
      const text = createRedactor([secret])(`{"credential":"${basic}"}`);
      expect(text).toContain('[redacted TOKEN]');
      const left = text.replace('[redacted TOKEN]', '').match(/"([A-Za-z0-9+/=]*)"\}/)?.[1] ?? '';
      expect(Buffer.from(left, 'base64').toString()).not.toMatch(/plain|value|looking/);
    },
  );

  it('are hidden line by line from eight characters on', () => {
    const lines = createRedactor([{ name: 'CERT', value: 'first line\nshort\nsecond line\r\n' }]);
    expect(lines('> second line\n> short')).toBe('> [redacted CERT]\n> short');
    expect(lines('first line\nshort\nsecond line')).toContain('[redacted CERT]');
  });

  it('are hidden with or without the line end they were saved with', () => {
    const saved = createRedactor([{ name: 'A', value: 'tok3n-value\n' }]);
    expect(saved('x=tok3n-value;')).toBe('x=[redacted A];');
  });

  it('go before shorter ones they contain', () => {
    const both = createRedactor([
      { name: 'SHORT', value: 'abcdef' },
      { name: 'LONG', value: 'abcdef-ghijkl' },
    ]);
    expect(both('abcdef-ghijkl abcdef')).toBe('[redacted LONG] [redacted SHORT]');
  });

  it('are hidden wholly where they overlap', () => {
    const both = createRedactor([
      { name: 'A', value: 'abcdefgh' },
      { name: 'B', value: 'fghijk' },
      { name: 'C', value: 'bcde' },
    ]);
    expect(both('xabcdefghijky')).toBe('x[redacted A]y');
    expect(both('xbcdey fghi')).toBe('x[redacted C]y fghi');
  });

  it('are found at the ends and side by side; other text stays as it is', () => {
    const one = createRedactor([{ name: 'A', value: 'zyxw9876' }]);
    expect(one('zyxw9876zyxw9876')).toBe('[redacted A][redacted A]');
    expect(one('zyxw987 6 zyxw')).toBe('zyxw987 6 zyxw');
    expect(one('')).toBe('');
  });

  it('shorter than four characters are left alone', () => {
    expect(createRedactor([{ name: 'PIN', value: '123' }])('123 files')).toBe('123 files');
  });
});

describe('shapes of tokens', () => {
  it.each([
    ['sk-ant-api03-' + random(90)],
    ['sk-proj-' + random(40)],
    ['ghp_' + random(36)],
    ['ghs_' + random(36)],
    ['github_pat_' + random(22) + '_' + random(59)],
    ['xoxb-123456789012-' + random(24)],
    ['AKIAIOSFODNN7EXAMPLE'],
    ['hgr_' + random(32)],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.' + random(43)],
    [PRIVATE_KEY],
    [PRIVATE_KEY.replaceAll('\n', '\\n')],
    [PRIVATE_KEY.replace('OPENSSH ', '').replace('OPENSSH ', '')],
  ])('%s', (token) => {
    expect(redactShapes(`a ${token} b`)).toBe('a [redacted] b');
    expect(redactShapes(`{"x":"line\\n${token}"}`)).toBe('{"x":"line\\n[redacted]"}');
    expect(redactShapes(`KEY=${token}`)).toBe('KEY=[redacted]');
  });

  it('hides the password in a URL, also an odd one, and keeps host and user', () => {
    expect(redactShapes('git clone https://me:s3cr3t@github.com/a/b')).toBe(
      'git clone https://me:[redacted]@github.com/a/b',
    );
    expect(redactShapes('postgres://u:p@ss:w@db:5432/x')).toBe('postgres://u:[redacted]@db:5432/x');
    expect(redactShapes(`https://${random(40)}@github.com`)).toBe('https://[redacted]@github.com');
    const clean = 'ssh://git@github.com/a and http://host:80/path?x=a@b and git@github.com:a/b.git';
    expect(redactShapes(clean)).toBe(clean);
  });

  it('hides what follows Bearer and Basic', () => {
    expect(redactShapes(`Authorization: Bearer ${random(24)}`)).toBe(
      'Authorization: Bearer [redacted]',
    );
    expect(redactShapes('Basic knowledge of git')).toBe('Basic knowledge of git');
  });

  it('hides a key that was cut, but not the text after a mere mention', () => {
    const cut = PRIVATE_KEY.split('\n').slice(0, 3).join('\n');
    expect(redactShapes(`${cut}\nThe log ends.`)).toBe('[redacted]The log ends.');
    expect(redactShapes('grep "-----BEGIN PRIVATE KEY-----" file.pem')).toBe(
      'grep "[redacted]" file.pem',
    );
  });

  it.each([
    'risk-assessment-of-the-disk-1234567890',
    'the task-runner-for-everything-in-2026',
    'sk-short1',
    'sk-a-long-name-without-any-figure-in-it',
    'https://example.org/a:b@c',
    'AKIA is a prefix',
    'eyJ.eyJ.x',
    'sha256-1f2e3d4c5b6a79880f1e2d3c4b5a69780f1e2d3c4b5a6978',
  ])('leaves %j alone', (text) => {
    expect(redactShapes(text)).toBe(text);
  });
});

describe('time', () => {
  const big = (unit: string): string => unit.repeat(Math.ceil(MIB / unit.length));
  const hostile = [
    'a',
    'eyJ',
    'eyJ-',
    'eyJaaaaaaaaa.',
    '\\neyJ',
    'sk-',
    'sk-ant-',
    'sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_',
    'a://',
    'a://b:',
    'a:b@',
    'a-',
    'Bearer ',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN PRIVATE KEY-----\n-----END ',
    '-----BEGIN ',
    '-----BEGIN PRIVATE KEY-----' + 'A'.repeat(30),
    '-----BEGIN PRIVATE KEY-----\n',
    'github_pat_',
    'xoxb-',
    'ASIA',
    ' ',
    '\\',
  ];

  it.each(hostile)('is linear for a mebibyte of %j', (unit) => {
    const text = big(unit);
    expect(millisOf(() => redactShapes(text))).toBeLessThan(REDACT_MILLIS_MAX);
  });

  it('is linear with 5000 lines of secrets that begin alike', () => {
    const secrets = Array.from({ length: 250 }, (_, at) => ({
      name: `S${at}`,
      value: Array.from({ length: 20 }, (_line, line) => `aaaaaaaa${at}-${line}`).join('\n'),
    }));
    const redact = createRedactor(secrets);
    for (const text of [big('b'), big('aaa'), big('xaaaaaaaa0'), big(secrets[249]!.value)]) {
      expect(millisOf(() => redact(text))).toBeLessThan(REDACT_MILLIS_MAX);
    }
  });

  it('refuses secrets that are too long together', () => {
    const value = (at: number): string => `${at}${'0123456789'.repeat(6_500)}`;
    const secrets = Array.from({ length: 40 }, (_, at) => ({ name: 'A', value: value(at) }));
    expect(() => createRedactor(secrets)).toThrow('too long');
    const [one] = secrets;
    expect(createRedactor([one!])(`<${one!.value}>`)).toBe('<[redacted A]>');
  });
});

function millisOf(work: () => unknown): number {
  const begun = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000;
}
