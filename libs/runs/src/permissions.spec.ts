import { describe, expect, it } from '@jest/globals';
import { ALL_ALLOWED, asksLeave, judge } from './permissions.ts';

const rule = (tool: string, pattern: string, verdict: string) => ({ tool, pattern, verdict });
const ask = (...rules: ReturnType<typeof rule>[]) => ({ mode: 'ask', rules });
const all = (...rules: ReturnType<typeof rule>[]) => ({ mode: 'all', rules });
const bash = (command: string) => ({ command });

describe('what a tool call needs leave for [A3]', () => {
  it('is nothing where all is allowed and no rule says otherwise', () => {
    expect(asksLeave(ALL_ALLOWED)).toBe(false);
    expect(asksLeave(ask())).toBe(true);
    expect(asksLeave(all(rule('Bash', '*', 'deny')))).toBe(true);
  });

  it('the mode decides where no rule matches', () => {
    expect(judge(ask(), 'Bash', bash('ls'))).toMatchObject({ verdict: 'ask', decided_by: 'mode' });
    expect(judge(all(), 'Bash', bash('ls'))).toMatchObject({
      verdict: 'allow',
      decided_by: 'mode',
    });
  });

  it('the first rule that matches wins, and is named', () => {
    const rules = ask(
      rule('Read', '*', 'allow'),
      rule('Bash', 'git push*', 'deny'),
      rule('Bash', 'git *', 'allow'),
    );
    const judged = (command: string) => judge(rules, 'Bash', bash(command));
    expect(judged('git push origin')).toMatchObject({ verdict: 'deny', decided_by: 'rule 2' });
    expect(judged('git status')).toMatchObject({
      verdict: 'allow',
      decided_by: 'rule 3',
      reason: 'rule 3: allow Bash git *',
    });
    expect(judged('make')).toMatchObject({ verdict: 'ask', decided_by: 'mode' });
  });

  it('a rule may ask where all else is allowed', () => {
    const rules = all(rule('Bash', 'rm *', 'ask'));
    expect(judge(rules, 'Bash', bash('rm -r build')).verdict).toBe('ask');
    expect(judge(rules, 'Bash', bash('ls')).verdict).toBe('allow');
  });

  it.each([
    [{ command: 'git log' }, 'git log'],
    [{ cmd: 'git log' }, 'git log'],
    [{ file_path: '/workspace/a.ts', content: 'x' }, '/workspace/*'],
    [{ path: 'a.ts' }, 'a.ts'],
    [{ url: 'https://example.org' }, '{"url":"https://example.org"}'],
    [{ command: ['git', 'log'] }, '{"command":["git","log"]}'],
    ['text', 'text'],
    [null, 'null'],
    [undefined, ''],
  ])('of %j the pattern sees the command, the path, or else all of it', (input, pattern) => {
    expect(judge(ask(rule('*', pattern, 'allow')), 'Any', input).verdict).toBe('allow');
    expect(judge(ask(rule('*', `${pattern}!`, 'allow')), 'Any', input).verdict).toBe('ask');
  });
});

describe('`*` in a pattern stands for any run of characters', () => {
  it.each<[string, string, boolean]>([
    ['*', '', true],
    ['*', 'anything\nat all', true],
    ['a*', 'a', true],
    ['a*', 'ba', false],
    ['*a', 'ba', true],
    ['*a', 'ab', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['*ab*ab*', 'xabx', false],
    ['*ab*ab*', 'xababx', true],
    ['git', 'git status', false],
    ['g.t', 'git', false],
    ['a**b', 'ab', true],
    ['mcp__*__read', 'mcp__files__read', true],
  ])('%s against %s: %s', (pattern, text, matches) => {
    const verdict = matches ? 'allow' : 'ask';
    expect(judge(ask(rule('Bash', pattern, 'allow')), 'Bash', bash(text)).verdict).toBe(verdict);
    expect(judge(ask(rule(pattern, '*', 'allow')), text, bash('')).verdict).toBe(verdict);
  });

  it('takes time in proportion to the text, however many stars there are', () => {
    const hostile = 'a'.repeat(100_000);
    const start = performance.now();
    judge(ask(rule('Bash', `${'*a'.repeat(500)}b`, 'allow')), 'Bash', bash(hostile));
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
