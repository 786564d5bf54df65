import type { PermissionsDocument } from '@hangar/contracts';
import { defineCommand, type Listed } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import type { Output } from '../../output/output.ts';
import type { Column } from '../../output/table.ts';
import { SESSION_ARGUMENT } from './session-text.ts';

const MODES = ['all', 'ask'] as const;
const RULE = "'TOOL PATTERN'";

export const permissionsCommand = defineCommand({
  path: ['session', 'permissions'],
  summary: 'Show or change what the tool calls of a session need leave for',
  description:
    'Without a flag it shows them. The first rule that matches wins, and where none does the mode. ' +
    'TOOL and PATTERN are compared whole, * stands for anything; a PATTERN is held against the ' +
    'command or path of the call, and may be left out. The rules that are given, in the order in ' +
    'which they are typed, take the place of those there were. Counts from the next turn on.',
  args: SESSION_ARGUMENT,
  flags: {
    mode: {
      kind: 'text',
      value: 'MODE',
      help: 'for what no rule matches: all (allowed) or ask (a person is asked)',
      choices: MODES,
    },
    allow: { kind: 'list', value: RULE, help: 'a rule: runs without asking; repeatable' },
    deny: { kind: 'list', value: RULE, help: 'a rule: does not run; repeatable' },
    ask: { kind: 'list', value: RULE, help: 'a rule: a person is asked; repeatable' },
    clear: { kind: 'switch', help: 'drop the rules there were' },
  },
  changes: true,
  examples: [
    'hangar session permissions csv-fix',
    "hangar session permissions csv-fix --mode ask --allow Read --allow 'Bash npm test*'",
    "hangar session permissions csv-fix --deny 'Bash git push*' --mode all",
  ],
  json: '{mode, rules: [{tool, pattern, verdict}]}',
  routes: ['PUT /api/sessions/{ref}/permissions', 'GET /api/sessions/{ref}'],
  async run({ args, flags, client, output }) {
    const rules = rulesOf(flags);
    const session = await client.sessions.get(args.session);
    const isChange = flags.mode !== undefined || rules.length > 0 || flags.clear;
    const { permissions } = isChange
      ? await client.sessions.permissions(session.id, {
          mode: MODES.find((mode) => mode === flags.mode) ?? session.permissions.mode,
          rules: rules.length > 0 || flags.clear ? rules : session.permissions.rules,
        })
      : session;
    output.result(permissions, () => showPermissions(output, permissions));
    return EXIT.ok;
  },
});

type Rule = PermissionsDocument['rules'][number];

function rulesOf(flags: Record<Rule['verdict'], Listed[]>): Rule[] {
  const verdicts = ['allow', 'deny', 'ask'] as const;
  return verdicts
    .flatMap((verdict) => flags[verdict].map((listed) => ({ verdict, ...listed })))
    .toSorted((a, b) => a.place - b.place)
    .map(({ verdict, text }) => {
      const match = /^\s*(\S+)(?:\s+(.*\S))?\s*$/s.exec(text);
      if (!match?.[1])
        throw refused('A rule has no tool.', `Write --${verdict} 'TOOL PATTERN', * for any tool.`);
      return { tool: match[1], pattern: match[2] ?? '*', verdict };
    });
}

/** As rules all of them: the mode is the last, and matches everything. */
function showPermissions(output: Output, { mode, rules }: PermissionsDocument): void {
  const verdict = mode === 'all' ? 'allow' : 'ask';
  const last = { number: 'mode', tool: '*', pattern: '*', verdict } as const;
  const rows = [...rules.map((rule, index) => ({ number: `${index + 1}`, ...rule })), last];
  output.table(COLUMNS, rows, '');
}

const COLUMNS: Column<Rule & { number: string }>[] = [
  { title: 'RULE', show: (rule) => rule.number },
  {
    title: 'VERDICT',
    show: (rule) => rule.verdict,
    tone: ({ verdict }) => (verdict === 'allow' ? 'good' : verdict === 'deny' ? 'bad' : 'warn'),
  },
  { title: 'TOOL', show: (rule) => rule.tool, tone: () => 'strong' },
  { title: 'PATTERN', show: (rule) => rule.pattern },
];
