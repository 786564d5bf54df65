import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { runCommand } from '../../testing/run-command.ts';
import { bashScript, fishScript, zshScript, type CompletionWord } from './scripts.ts';

const words: CompletionWord[] = [
  {
    path: ['session', 'list'],
    summary: "List what's there",
    flags: ['--state', '--json'],
    takesSession: false,
  },
  { path: ['session', 'get'], summary: 'Show: one', flags: ['--json'], takesSession: true },
  { path: ['limits'], summary: 'Show limits', flags: ['--env'], takesSession: false },
];

/** What bash offers after this line, with a `hangar` that lists two sessions. */
async function offered(line: string[]): Promise<string[]> {
  const script = `${bashScript(words)}
hangar() { printf 'ses-1\\tcsv-fix\\nses-2\\tdocs\\n'; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hangar
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', ...line]);
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion of bash', () => {
  it.each([
    [
      ['hangar', ''],
      ['session', 'limits'],
    ],
    [['hangar', 'se'], ['session']],
    [
      ['hangar', 'session', ''],
      ['list', 'get'],
    ],
    [['hangar', 'session', 'g'], ['get']],
    [
      ['hangar', 'session', 'list', '--'],
      ['--state', '--json'],
    ],
    [
      ['hangar', 'session', 'get', ''],
      ['csv-fix', 'docs'],
    ],
    [['hangar', 'session', 'get', 'd'], ['docs']],
    [['hangar', 'session', 'list', ''], []],
    [['hangar', 'limits', '--'], ['--env']],
  ])('offers after %j %j', async (line, wanted) => {
    expect(await offered(line)).toEqual(wanted);
  });
});

describe('the scripts', () => {
  it('quote what they are given', () => {
    expect(zshScript(words)).toContain(`'list:List what'\\''s there'`);
    expect(fishScript(words)).toContain(`-a list -d 'List what'\\''s there'`);
  });

  it('know every command', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { out } = await runCommand(['completion', shell]);
      for (const word of ['take-back', 'answer', 'permissions', 'checkpoint', 'doctor', 'from-env'])
        expect(out).toContain(word);
    }
  });

  it('are ones that bash can read', async () => {
    const { out } = await runCommand(['completion', 'bash']);
    expect(execFileSync('bash', ['-n'], { input: out }).toString()).toBe('');
  });

  it('are refused for other shells', async () => {
    expect((await runCommand(['completion', 'tcsh'])).code).toBe(2);
  });
});
