import type { Permissions } from '@hangar/contracts';

export interface Judgement {
  verdict: 'allow' | 'deny' | 'ask';
  /** `mode`, or `rule N` (from 1): what decided [A3]. */
  decided_by: string;
  reason: string;
}

/** Everything is allowed unless the session says otherwise. */
export const ALL_ALLOWED: Permissions = { mode: 'all', rules: [] };

/** Without a rule and in mode `all` nothing has to be asked about. */
export const asksLeave = ({ mode, rules }: Permissions): boolean =>
  mode !== 'all' || rules.length > 0;

/** The first rule that matches decides; else the mode does [A3]. */
export function judge({ mode, rules }: Permissions, tool: string, input: unknown): Judgement {
  const subject = subjectOf(input);
  const index = rules.findIndex(
    (rule) => matches(rule.tool, tool) && matches(rule.pattern, subject),
  );
  const rule = rules[index];
  if (rule)
    return {
      verdict: rule.verdict as Judgement['verdict'],
      decided_by: `rule ${index + 1}`,
      reason: `rule ${index + 1}: ${rule.verdict} ${rule.tool} ${rule.pattern}`,
    };
  return mode === 'all'
    ? { verdict: 'allow', decided_by: 'mode', reason: 'the session allows all' }
    : { verdict: 'ask', decided_by: 'mode', reason: 'the session asks' };
}

/** What a pattern is held against: the command or the path, or else the whole input. */
function subjectOf(input: unknown): string {
  if (typeof input === 'object' && input !== null) {
    const fields = input as Record<string, unknown>;
    for (const name of ['command', 'cmd', 'file_path', 'path'])
      if (typeof fields[name] === 'string') return fields[name];
  }
  return typeof input === 'string' ? input : (JSON.stringify(input) ?? '');
}

/** `*` stands for any run of characters; compared without going back over the text. */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  if (parts.length === 0) return pattern === text;
  if (!text.startsWith(first)) return false;
  const last = parts.pop() ?? '';
  let from = first.length;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}
