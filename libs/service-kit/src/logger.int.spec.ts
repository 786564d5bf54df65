import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const CHILD = fileURLToPath(new URL('./logger.child.ts', import.meta.url));

function linesOf(...parameters: string[]): string[] {
  const flags = ['--conditions=@hangar/source', '--disable-warning=ExperimentalWarning'];
  const child = spawnSync(process.execPath, [...flags, CHILD, ...parameters], { encoding: 'utf8' });
  expect(child.stderr).toBe('');
  return child.stdout.trimEnd().split('\n').map(stripVTControlCharacters);
}

describe('the log of a process that exits at once', () => {
  it('is JSON in a pipe, with nothing lost', () => {
    const lines = linesOf().map((line) => JSON.parse(line) as { msg: string });
    expect(lines.map(({ msg }) => msg)).toEqual(['first', 'second']);
  });

  it('is a readable line on a terminal', () => {
    const lines = linesOf('terminal');
    expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: first \{.*"session_id":"ses-1"/);
    const rest = lines.slice(1).join('\n');
    expect(rest).toMatch(/ERROR: second/);
    expect(rest).toContain('bad [redacted]');
    expect(rest).not.toContain('ghp_');
  });
});
