import { describe, expect, it } from '@jest/globals';
import { recipeSchema } from '@hangar/contracts';
import { judgeCredential } from './credential.policy.ts';

const recipe = recipeSchema.parse({
  name: 'web',
  secrets: ['NPM_TOKEN', 'OPENAI_API_KEY'],
  git: [
    { host: 'git.example', secret: 'ANY' },
    { host: 'git.example', path: 'acme', secret: 'ACME' },
    { host: 'git.example', path: 'acme/app', secret: 'APP', username: 'bot' },
    { host: 'code.example:8443', path: 'acme', secret: 'CODE' },
  ],
});
const MACHINE = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'];

const given = (request: Record<string, string>) => judgeCredential(request, recipe, MACHINE);
const git = (host: string, path?: string, more: Record<string, string> = {}) =>
  given({ operation: 'get', protocol: 'https', host, ...(path ? { path } : {}), ...more });
const secretOf = (verdict: ReturnType<typeof given>): string =>
  'step' in verdict && verdict.step.type === 'git' ? verdict.step.credential.secret : 'refused';

describe('a sandbox may have [R5]', () => {
  it('a secret that its environment names', () => {
    expect(given({ operation: 'secret', name: 'NPM_TOKEN' })).toEqual({
      step: { type: 'secret', name: 'NPM_TOKEN' },
    });
  });

  it("the machine's key of a provider, where the environment names none of its own", () => {
    const keys = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'].map(
      (name) => given({ operation: 'secret', name }) as { step: { type: string } },
    );
    expect(keys.map(({ step }) => step.type)).toEqual(['machine', 'secret']);
  });

  it.each([
    ['git.example', 'acme/app', 'APP'],
    ['git.example', 'acme/app.git', 'APP'],
    ['git.example', 'acme/app.git/info/lfs', 'APP'],
    ['GIT.example', 'acme/app/deep', 'APP'],
    ['git.example', 'acme/apple', 'ACME'],
    ['git.example', 'acme', 'ACME'],
    ['git.example', 'acmeist/app', 'ANY'],
    ['git.example', undefined, 'ANY'],
    ['code.example:8443', 'acme/x', 'CODE'],
  ])('the most particular credential of %s/%s: %s', (host, path, secret) => {
    expect(secretOf(git(host, path))).toBe(secret);
  });
});

describe('a sandbox may not have [Z3]', () => {
  it.each(['OTHER', '', 'GEMINI_API_KEY', 'ACME', 'constructor'])('the secret %s', (name) => {
    const verdict = given({ operation: 'secret', name });
    expect(verdict).toMatchObject({ refused: expect.stringContaining('names no secret') });
  });

  it.each([
    ['other.example', 'acme/app'],
    ['code.example', 'acme/app'],
    ['code.example:8443', 'other/app'],
    ['code.example:8443', 'acmeist'],
    ['code.example:8443', undefined],
    ['code.example:8443', 'acme/../other/app'],
    ['git.example.evil.example', 'acme/app'],
    ['', 'acme/app'],
  ])('a credential for %s/%s', (host, path) => {
    const verdict = git(host, path);
    expect(verdict).toMatchObject({ refused: expect.stringContaining('names no credential for') });
  });

  it('a credential for a connection without TLS', () => {
    expect(git('git.example', 'acme/app', { protocol: 'http' })).toEqual({
      refused: 'hangar has credentials for https only',
    });
  });

  it('anything by another word', () => {
    for (const operation of ['store', 'list', '', 'toString'])
      expect(given({ operation })).toHaveProperty('refused');
  });
});

describe('what git was refused with', () => {
  const attributes = { operation: 'erase', protocol: 'https', host: 'git.example', path: 'acme/x' };

  it('is told with its value', () => {
    expect(given({ ...attributes, password: 'old' })).toMatchObject({
      step: { type: 'refused', path: 'acme/x', value: 'old', credential: { secret: 'ACME' } },
    });
  });

  it('says nothing without one', () => {
    expect(given(attributes)).toHaveProperty('refused');
  });
});
