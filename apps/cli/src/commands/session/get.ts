import type { SessionDocument } from '@hangar/contracts';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Output } from '../../output/output.ts';
import { agoText } from '../../output/quantities.ts';
import { harmless, toneOfState } from '../../output/style.ts';
import { showCard } from './cards.ts';
import { waitText } from './queue.ts';
import { SESSION_ARGUMENT, usageText } from './session-text.ts';

/** Turns shown to a person; `--json` has them all. */
const TURNS_SHOWN_MAX = 5;

export const getCommand = defineCommand({
  path: ['session', 'get'],
  summary: 'Show a session: state, turns, what waits on you',
  args: SESSION_ARGUMENT,
  flags: {},
  examples: ['hangar session get csv-fix', 'hangar session get csv-fix --json | jq -r .state'],
  json: 'the session, whole',
  routes: ['GET /api/sessions/{ref}'],
  async run({ args, client, output, terminal }) {
    const session = await client.sessions.get(args.session);
    output.result(session, () => showSession(output, session, terminal.now()));
    return EXIT.ok;
  },
});

function showSession(output: Output, s: SessionDocument, now: Date): void {
  const time = (at: string): string => (output.isTty ? agoText(at, now) : at);
  const newest = s.checkpoints.at(-1);
  output.fields([
    ['id', s.id],
    ['name', s.name],
    ['title', s.title || null],
    ['state', s.state],
    ['reason', s.state_reason || null],
    ['phase', s.start_phase],
    ['talk', s.talk && `in ${s.talk.terminal_id}, since ${time(s.talk.since)}: messages wait`],
    ['environment', s.environment],
    ['harness', s.model === null ? s.harness : `${s.harness} (${s.model})`],
    ['repo', s.repo],
    ['branch', s.base_branch === null ? s.branch : `${s.branch} from ${s.base_branch}`],
    ['directory', s.cwd],
    ['conversation', s.conversation],
    ['sandbox', s.sandbox_id],
    ['checkpoint', newest ? `${newest.id}, ${time(newest.taken_at)}${whole(newest)}` : null],
    ['suspends', s.idle_minutes === 0 ? 'never by itself' : `after ${s.idle_minutes} idle minutes`],
    ['permissions', permissionsText(s)],
    // A person sees the turns below.
    ['error', output.isTty ? null : (s.turns.at(-1)?.error ?? null)],
    ['last active', time(s.last_active_at)],
    ['created', time(s.created_at)],
    ...continuityFields(s),
  ]);
  if (!output.isTty) return;
  showQueue(output, s);
  showTurns(output, s, now);
  for (const card of s.attention) {
    output.line('');
    showCard(output, card, s.name);
  }
}

/** null: everything is allowed, as in most sessions. */
function permissionsText({ permissions: { mode, rules } }: SessionDocument): string | null {
  if (mode === 'all' && rules.length === 0) return null;
  const many = rules.length === 1 ? '1 rule' : `${rules.length} rules`;
  const first = rules.length > 0 ? `${many}, else ` : '';
  return `${first}${mode === 'all' ? 'all is allowed' : 'a person is asked'}`;
}

const whole = ({ complete }: { complete: boolean }): string => (complete ? '' : ' (incomplete)');

/** From what was said to what never comes back. */
const PARTS = [
  'conversation',
  'commits',
  'staged',
  'unstaged',
  'untracked',
  'ignored',
  'processes',
] as const;

function continuityFields(s: SessionDocument): [string, string | null][] {
  if (!s.continuity) return [];
  const { losses, ...parts } = s.continuity;
  const text = PARTS.flatMap((name) => {
    const part = parts[name];
    return part ? [`${name} ${part.state}${part.detail ? ` (${part.detail})` : ''}`] : [];
  });
  const lost = losses.map((loss) => `${loss.path ?? 'something'} (${loss.reason})`);
  return [
    ['last resume', text.join(', ')],
    ['lost', lost.length > 0 ? lost.join(', ') : null],
  ];
}

function showQueue(output: Output, s: SessionDocument): void {
  if (s.queue.length > 0) output.line('');
  for (const message of s.queue) {
    output.line(
      `${output.paint('quiet', waitText(message))} ${message.message_id} ${first(message.text)}`,
    );
  }
}

function showTurns(output: Output, s: SessionDocument, now: Date): void {
  for (const turn of s.turns.slice(-TURNS_SHOWN_MAX)) {
    const state = turn.outcome ?? 'running';
    const tone = toneOfState(
      state === 'succeeded' ? 'IDLE' : state === 'running' ? 'ACTIVE' : 'FAILED',
    );
    const facts = [agoText(turn.finished_at ?? turn.requested_at, now)];
    if (turn.usage) facts.push(usageText(turn.usage));
    output.line('');
    output.line(`turn ${turn.number} ${output.paint(tone, state)} (${facts.join(', ')})`);
    output.line(`  > ${first(turn.message)}`);
    for (const { text } of turn.steered) output.line(`  > ${first(text)}`);
    const said = turn.error ?? turn.summary;
    if (said === '') continue;
    for (const line of harmless(said).split('\n')) output.line(`  ${line}`);
  }
}

/** The first line, for an overview. */
const first = (text: string): string => harmless(text.split('\n', 1)[0] ?? '').slice(0, 200);
