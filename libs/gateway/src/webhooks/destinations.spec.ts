import { describe, expect, it } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import { createDestinations, isAllowed, type DestinationRules } from './destinations.ts';

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '11.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '100.63.255.255',
  '100.128.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001::8a',
];
const PRIVATE = [
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '64:ff9b::8.8.8.8',
  'fc00::1',
  'fd12:3456::1',
  'ff02::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '3fff::1',
];
const NEVER = [
  '169.254.169.254',
  '169.254.0.1',
  '::ffff:169.254.169.254',
  '64:ff9b::169.254.169.254',
  '168.63.129.16',
  '100.100.100.200',
  'fe80::1',
  'fd00:ec2::254',
  'not an address',
  '',
];

const destinations = (rules: Partial<DestinationRules> = {}) =>
  createDestinations({ allowsPrivate: false, ...rules });

/** What a connection is given for a name. */
const lookedUp = (names: string[], rules: Partial<DestinationRules> = {}) =>
  new Promise<LookupAddress[]>((resolve, reject) => {
    const { lookup } = destinations({ resolve: () => Promise.resolve(names), ...rules });
    lookup('hooks.example', { all: true }, (error, found) =>
      error ? reject(error) : resolve(found as LookupAddress[]),
    );
  });

describe('where webhooks may be sent to', () => {
  it.each(PUBLIC)('%s is allowed', (address) => {
    expect(isAllowed(address, false)).toBe(true);
    expect(isAllowed(address, true)).toBe(true);
  });

  it.each(PRIVATE)('%s is refused, and allowed by the setting', (address) => {
    expect(isAllowed(address, false)).toBe(false);
    expect(isAllowed(address, true)).toBe(true);
  });

  it.each(NEVER)('"%s" is refused whatever the setting says [X9]', (address) => {
    expect(isAllowed(address, false)).toBe(false);
    expect(isAllowed(address, true)).toBe(false);
  });

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1./',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
  ])('a URL with the address %s is refused, with a hint', (text) => {
    const check = (): void => destinations().check(new URL(text));
    expect(check).toThrow(expect.objectContaining({ code: 'invalid' }));
    expect(check).toThrow(/Webhooks are not sent to/);
  });

  it('the hint names the setting where it helps', () => {
    const hintOf = (text: string): unknown => {
      try {
        destinations().check(new URL(text));
      } catch (error) {
        return (error as { hint?: unknown }).hint;
      }
      return undefined;
    };
    expect(hintOf('http://10.0.0.1/')).toContain('HANGAR_WEBHOOK_PRIVATE=true');
    expect(hintOf('http://169.254.169.254/')).toContain('never allowed');
  });

  it('a URL with a public address or a name passes', () => {
    for (const text of ['https://8.8.8.8/x', 'https://[2606:4700::1]/', 'http://localhost/']) {
      expect(() => destinations().check(new URL(text))).not.toThrow();
    }
  });
});

describe('a name', () => {
  it('gives all its addresses, which are those connected to', async () => {
    expect(await lookedUp(['1.1.1.1', '2606:4700::1'])).toEqual([
      { address: '1.1.1.1', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
  });

  it('gives its first address to who asks for one', async () => {
    const { lookup } = destinations({ resolve: () => Promise.resolve(['1.1.1.1', '8.8.8.8']) });
    const given = await new Promise((resolve) => {
      lookup('hooks.example', {}, (...all) => resolve(all));
    });
    expect(given).toEqual([null, '1.1.1.1', 4]);
  });

  it.each(PRIVATE.concat(NEVER))('with %s among its addresses is refused', async (address) => {
    await expect(lookedUp(['1.1.1.1', address])).rejects.toThrow(/is refused/);
  });

  it('is that of the system where private addresses are allowed', async () => {
    const { lookup } = createDestinations({ allowsPrivate: true });
    const given = await new Promise((resolve) => {
      lookup('localhost', { all: true }, (...all) => resolve(all));
    });
    expect(given).toEqual([null, expect.arrayContaining([{ address: '127.0.0.1', family: 4 }])]);
  });

  it('without an address is an error', async () => {
    await expect(lookedUp([])).rejects.toThrow('hooks.example has no address');
  });

  it('is asked for again for every request: what it led to before does not count', async () => {
    const answers = [['1.1.1.1'], ['127.0.0.1']];
    const resolve = () => Promise.resolve(answers.shift() ?? []);
    await expect(lookedUp([], { resolve })).resolves.toHaveLength(1);
    await expect(lookedUp([], { resolve })).rejects.toThrow('127.0.0.1');
  });
});
