import { describe, expect, it } from '@jest/globals';
import {
  execSchema,
  createSessionSchema,
  recipeSchema,
  repoDirectory,
  sessionCwd,
} from '../index.ts';
import { branchSchema, repoSchema, secretNameSchema, sessionNameSchema } from './names.ts';

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;

describe('names', () => {
  it.each([
    ['csv-fix', true],
    ['a', true],
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    ['-a', false],
    ['a-', false],
    ['A', false],
    ['a_b', false],
    ['', false],
    ['ses-12345678', false],
    ['ses-1234567', true],
  ])('of a session: %s %s', (name, isRight) => {
    expect(accepts(sessionNameSchema, name)).toBe(isRight);
  });

  it.each([
    ['NPM_TOKEN', true],
    ['_x', true],
    ['1X', false],
    ['HANGAR_TOKEN', false],
    ['PATH', false],
    ['A-B', false],
  ])('of a secret: %s %s', (name, isRight) => {
    expect(accepts(secretNameSchema, name)).toBe(isRight);
  });

  it.each([
    ['main', true],
    ['hangar/session/x', true],
    ['-x', false],
    ['a..b', false],
    ['a b', false],
    ['a/.b', false],
    ['a.lock', false],
    ['a/', false],
    ['@', false],
    ['a\nb', false],
    ['a@{1}', false],
  ])('of a branch: %s %s', (name, isRight) => {
    expect(accepts(branchSchema, name)).toBe(isRight);
  });
});

describe('repositories', () => {
  it.each([
    ['https://example.org/a/app.git', 'app'],
    ['git@example.org:a/app.git', 'app'],
    ['ssh://git@example.org/a/app', 'app'],
    ['file:///srv/app.git', 'app'],
    ['/srv/repos/app/', 'app'],
    ['git@example.org:app', 'app'],
  ])('%s is cloned into %s', (repo, directory) => {
    expect(accepts(repoSchema, repo)).toBe(true);
    expect(repoDirectory(repo)).toBe(directory);
    expect(sessionCwd(repo, 'name')).toBe(`/workspace/${directory}`);
  });

  it.each([
    'ext::sh -c id',
    'https://user:password@example.org/app.git',
    'https://token@example.org/app.git',
    'ssh://git:password@example.org/app.git',
    'https://example.org/..',
    '/',
    '-u/app',
    'app',
    'ftp://example.org/app',
    'https://example.org/a b',
  ])('%s is refused', (repo) => {
    expect(accepts(repoSchema, repo)).toBe(false);
  });

  it('without one the session is at its own name', () => {
    expect(sessionCwd(null, 'csv-fix')).toBe('/workspace/csv-fix');
  });
});

describe('recipes', () => {
  const withMount = (target: string, source = '/srv/a') =>
    accepts(recipeSchema, { name: 'a', mounts: [{ source, target }] });

  it.each(['/opt/cache', '/mnt/a', '/srv', '/homes'])('mount at %s', (target) => {
    expect(withMount(target)).toBe(true);
  });

  it.each([
    '/',
    '/workspace',
    '/workspace/app',
    '/home/agent',
    '/home',
    '/run/hangar',
    '/proc/1',
    '/dev',
    '/opt/../workspace',
    '/opt//a',
    'opt',
    '/opt/',
  ])('do not mount at %s', (target) => {
    expect(withMount(target)).toBe(false);
  });

  it('do not mount a relative source', () => {
    expect(withMount('/opt/a', '../a')).toBe(false);
  });

  it.each([
    [{ host: 'github.com' }, true],
    [{ host: '127.0.0.1:8443', path: 'acme/app.git', username: 'bot' }, true],
    [{ host: 'https://github.com' }, false],
    [{ host: 'GitHub.com' }, false],
    [{ host: 'github.com/acme' }, false],
    [{ host: 'ada@github.com' }, false],
    [{ host: 'github.com:0' }, false],
    [{ host: 'github.com', path: '/acme' }, false],
    [{ host: 'github.com', path: 'acme/' }, false],
    [{ host: 'github.com', path: 'acme/../other' }, false],
    [{ host: 'github.com', path: '..' }, false],
    [{ host: 'github.com', username: 'two\nlines' }, false],
    [{ host: 'github.com', secret: 'HANGAR_TOKEN' }, false],
    [{ host: 'github.com', token: 'ghp_1' }, false],
  ])('of git name a server and a secret, never a value: %j', (credential, isAccepted) => {
    const git = [{ secret: 'GIT_TOKEN', ...credential }];
    expect(accepts(recipeSchema, { name: 'a', git })).toBe(isAccepted);
  });

  it('have defaults, and refuse what they do not know', () => {
    expect(recipeSchema.parse({ name: 'a' })).toEqual({
      name: 'a',
      setup: [],
      env: {},
      secrets: [],
      git: [],
      mounts: [],
      network: 'open',
      resources: {},
      retention: 'git',
    });
    expect(accepts(recipeSchema, { name: 'a', network: 'some' })).toBe(false);
    expect(accepts(recipeSchema, { name: 'a', resources: { gpu: 1 } })).toBe(false);
    expect(accepts(recipeSchema, { name: 'a', env: { HANGAR_TOKEN: 'x' } })).toBe(false);
  });
});

describe('bodies', () => {
  it('bound messages in bytes, not characters', () => {
    const body = { name: 'a', environment: 'e', harness: 'h' };
    const of = (message: string) => accepts(createSessionSchema, { ...body, message });
    expect(of('a'.repeat(256 * 1024))).toBe(true);
    expect(of('a'.repeat(256 * 1024 + 1))).toBe(false);
    expect(of('é'.repeat(200 * 1024))).toBe(false);
    expect(of('')).toBe(false);
  });

  it('of exec take stdin in one form', () => {
    expect(accepts(execSchema, { argv: ['true'], stdin_base64: 'YQ==' })).toBe(true);
    expect(accepts(execSchema, { argv: ['true'], stdin_base64: 'Y!==' })).toBe(false);
    expect(accepts(execSchema, { argv: [] })).toBe(false);
    expect(accepts(execSchema, { argv: ['true'], timeout_seconds: 601 })).toBe(false);
  });
});
