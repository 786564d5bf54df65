import { describe, expect, it } from '@jest/globals';
import { HangarError } from '@hangar/contracts';
import { describeSettings, readConfig, required } from './config.ts';
import { SETTINGS, type Setting } from './settings.ts';

const KEY = Buffer.alloc(32, 1).toString('base64');
const OLD_KEY = Buffer.alloc(32, 2).toString('base64');

function refusal(envVars: Record<string, string>): HangarError {
  try {
    readConfig(envVars);
  } catch (error) {
    if (error instanceof HangarError && error.code === 'invalid') return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('readConfig', () => {
  it('has the documented defaults', () => {
    expect(readConfig({ HANGAR_STATE: '/var/hangar' })).toMatchObject({
      state: '/var/hangar',
      port: 7700,
      token: null,
      databaseUrl: null,
      natsUrl: null,
      vaultKeys: null,
      blobStore: { kind: 'fs', directory: '/var/hangar/blobs' },
      driver: 'local',
      sessionCheckpointMinutes: 10,
      sessionKeepCheckpoints: 5,
      sessionMaxPartMb: 100,
      sessionMaxUntrackedMb: 50,
      startDeadlineMinutes: 15,
      turnMinutes: 60,
      logLevel: 'info',
    });
  });

  it('reads every kind', () => {
    const config = readConfig({
      HANGAR_PORT: '0',
      HANGAR_DATABASE_URL: 'postgres://hangar:pw@db:5432/hangar',
      HANGAR_NATS_URL: 'nats://a:4222,tls://b:4222',
      HANGAR_NATS_USER: 'hangar',
      HANGAR_NATS_PASSWORD: 'pw',
      HANGAR_VAULT_KEY: `${KEY},${OLD_KEY}`,
      HANGAR_BLOB_STORE: 'memory',
      HANGAR_LOG_LEVEL: 'debug',
      PATH: '/bin',
    });
    expect(config.port).toBe(0);
    expect(config.natsUrl).toEqual(['nats://a:4222', 'tls://b:4222']);
    expect(config.vaultKeys?.map((key) => key[0])).toEqual([1, 2]);
    expect(config.blobStore).toEqual({ kind: 'memory' });
  });

  it.each([
    ['HANGAR_PORT', '70000', 'a whole number from 0 to 65535'],
    ['HANGAR_PORT', '7700.5', 'a whole number from 0 to 65535'],
    ['HANGAR_PORT', ' 7700', 'a whole number from 0 to 65535'],
    ['HANGAR_PORT', '1e3', 'a whole number from 0 to 65535'],
    ['HANGAR_TURN_MINUTES', '0', 'a whole number from 1'],
    ['HANGAR_DRIVER', 'Local', 'one of local, fake'],
    ['HANGAR_LOG_LEVEL', 'verbose', 'one of fatal, error, warn, info, debug, trace, silent'],
    ['HANGAR_BLOB_STORE', 's4:bucket', 'fs:<directory>, or memory'],
    ['HANGAR_NATS_URL', 'nats://a:4222,http://b', 'nats:// or tls://'],
    ['HANGAR_SANDBOX_IO_URL', 'localhost:7703', 'http:// or https://'],
  ])('refuses %s=%s and says what is allowed', (name, value, allowed) => {
    const { message, hint } = refusal({ [name]: value });
    expect(message).toContain(`${name} is ${JSON.stringify(value)}`);
    expect(message).toContain(allowed);
    expect(message.split('\n')).toHaveLength(1);
    expect(hint).toMatch(/\S/);
  });

  it('refuses a value that is nothing, for it is neither a value nor the default', () => {
    expect(refusal({ HANGAR_PORT: '' }).message).toMatch(/set to nothing.*Unset it to use 7700/);
  });

  it.each([
    ['HANGAR_VAULT_KEY', 'c2hvcnQ=', 'base64 of 32 random bytes'],
    ['HANGAR_VAULT_KEY', `${KEY},${KEY}`, 'each once'],
    ['HANGAR_TOKEN', 'short-secret', '16 to 512'],
    ['HANGAR_DATABASE_URL', 'mysql://root:hunter22@db', 'postgres://'],
  ])('never shows the value of the secret %s', (name, value, allowed) => {
    const { message } = refusal({ [name]: value });
    expect(message).toContain(`(hidden, ${value.length} characters)`);
    expect(message).toContain(allowed);
    expect(message).not.toContain(value);
  });

  it('hides a password in a wrong URL that is no secret as a whole', () => {
    const { message } = refusal({ HANGAR_NATS_URL: 'http://nats:hunter22@host' });
    expect(message).toContain('http://nats:[redacted]@host');
  });

  it('names a variable it does not know, and the one that was meant', () => {
    const { message } = refusal({ HANGAR_TURN_MINUTE: '5' });
    expect(message).toBe(
      'HANGAR_TURN_MINUTE is not a setting of hangar. Did you mean HANGAR_TURN_MINUTES?',
    );
    expect(refusal({ HANGAR_ZZZZZZ: '5' }).message).not.toContain('Did you mean');
  });

  it('leaves the names of the client, of sandboxes and of tests alone', () => {
    const around = { HANGAR_URL: 'x', HANGAR_RUN: 'y', HANGAR_TEST_LEVEL: 'all', HANGARS: '' };
    expect(readConfig(around).port).toBe(7700);
  });

  it('says all that is wrong at once', () => {
    const { message } = refusal({ HANGAR_PORT: 'x', HANGAR_NOPE: '', HANGAR_NATS_USER: 'me' });
    expect(message.split('\n')).toHaveLength(3);
    expect(message).toContain('HANGAR_NATS_USER and HANGAR_NATS_PASSWORD go together');
  });
});

describe('required', () => {
  it('gives what is set, and says who needs what is not', () => {
    const config = readConfig({ HANGAR_VAULT_KEY: KEY });
    expect(required(config, 'vaultKeys', 'checkpoints')).toHaveLength(1);
    expect(() => required(config, 'databaseUrl', 'sessions')).toThrow(
      'HANGAR_DATABASE_URL is not set, and sessions needs it.',
    );
  });
});

describe('the table of settings', () => {
  it('names each once, with a sentence, and has a default that it allows', () => {
    const all = describeSettings();
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name, does, unit } of all) {
      expect(name).toMatch(/^HANGAR_[A-Z_]+$/);
      expect(does).toMatch(/^[A-Za-z].*\.$/);
      expect(unit).toEqual(unitIn(name) ?? unit);
    }
    const defaults = Object.values<Setting>(SETTINGS).filter(({ fallback }) => fallback !== null);
    for (const { kind, fallback } of defaults) {
      expect(kind.schema.safeParse(fallback).success).toBe(true);
    }
  });
});

function unitIn(name: string): string | null {
  if (name.endsWith('_MINUTES')) return 'minutes';
  return name.endsWith('_MB') ? 'megabytes' : null;
}
