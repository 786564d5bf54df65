import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@hangar/testing';
import { credentialCommand } from './credential-command.ts';

const QUESTION = {
  owner: 'ada',
  environment: 'web',
  session: 'ses-1a2b3c4d',
  kind: 'git' as const,
  name: 'GIT_TOKEN',
  host: 'git.example',
  path: 'acme/app',
};
const internal = { name: 'HangarError', code: 'internal' };

describe('HANGAR_CREDENTIAL_COMMAND', () => {
  let directory = '';
  let count = 0;
  const errors: string[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hangar-command-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const command = async (script: string, timeoutMs?: number) => {
    const path = join(directory, `command-${(count += 1)}`);
    await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    errors.length = 0;
    return credentialCommand(path, (error) => errors.push(String(error)), timeoutMs);
  };

  it('is asked in JSON on stdin and answers in JSON, with nothing of hangar in its environment', async () => {
    process.env['HANGAR_COMMAND_TEST'] = 'must not be seen';
    const seen = join(directory, 'seen');
    const answer = '{"username":"bot","password":"p","expires_at":"2030-01-01T00:00:00Z"}';
    const ask = await command(`cat >${seen}; env >${seen}.env; echo '${answer}'`);
    expect(await ask(QUESTION)).toEqual({
      value: 'p',
      username: 'bot',
      expiresAt: new Date('2030-01-01T00:00:00Z'),
    });
    expect(JSON.parse(await readFile(seen, 'utf8'))).toEqual(QUESTION);
    const env = await readFile(`${seen}.env`, 'utf8');
    expect(env.split('\n').map((line) => line.split('=')[0])).toEqual(
      expect.not.arrayContaining(['HANGAR_COMMAND_TEST', 'HOME', 'ANTHROPIC_API_KEY']),
    );
    delete process.env['HANGAR_COMMAND_TEST'];
  });

  it('may answer with a value, without an end, and without having read the question', async () => {
    const ask = await command(`echo '{"value":"v"}'`);
    expect(await ask(QUESTION)).toEqual({ value: 'v', expiresAt: null });
  });

  it.each([
    ['rubbish', 'echo tok-in-rubbish', /no JSON/],
    ['nothing', 'true', /no JSON/],
    ['no value', `echo '{"username":"u"}'`, /is not \{"value"\}/],
    ['both', `echo '{"value":"a","password":"b"}'`, /is not/],
    ['a wrong time', `echo '{"value":"a","expires_at":"soon"}'`, /expires_at/],
    ['two lines as a password', String.raw`printf '{"password":"a\\nb"}'`, /is not/],
    [
      'an exit code',
      'echo why ghp_0123456789012345678901 >&2; exit 3',
      /exit code 3: why \[redacted\]/,
    ],
    ['too much', 'head -c 70000 /dev/zero', /more than 65536 bytes/],
  ])('%s is told in the log, without its output, and refused', async (_what, script, reason) => {
    const ask = await command(script);
    await expect(ask(QUESTION)).rejects.toMatchObject(internal);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(reason);
    expect(errors[0]).not.toContain('tok-in-rubbish');
  });

  it('that does not end is ended, with what it started', async () => {
    const pid = join(directory, 'pid');
    const ask = await command(`sleep 600 & echo $! >${pid}; wait`, 300);
    await expect(ask(QUESTION)).rejects.toMatchObject(internal);
    expect(errors[0]).toContain('no answer within 300 ms');
    const child = Number(await readFile(pid, 'utf8'));
    await eventually(async () => {
      const state = await readFile(`/proc/${child}/stat`, 'utf8').catch(() => '');
      return state === '' || / Z /.test(state);
    });
  });

  it('that is not there is told in the log', async () => {
    const ask = credentialCommand('/nonexistent/command', (error) => errors.push(String(error)));
    errors.length = 0;
    await expect(ask(QUESTION)).rejects.toMatchObject(internal);
    expect(errors[0]).toContain('ENOENT');
  });
});
