import type { SessionDocument, SessionSummary, TurnDocument } from '@hangar/contracts';
import { agoText, durationText } from '../../output/quantities.ts';
import type { Output } from '../../output/output.ts';
import { harmless, toneOfState } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

export const SESSION_ARGUMENT = { session: { help: 'id (ses-1a2b3c4d) or name' } } as const;

/** Turns are numbered from 1; the server refuses what is above its own bound. */
const TURN_MAX = 999_999_999;

export const TURN_FLAG = {
  turn: { kind: 'count', value: 'N', help: 'only of this turn', min: 1, max: TURN_MAX },
} as const;

export const sessionColumns = (now: Date): Column<SessionSummary>[] => [
  { title: 'ID', show: (s) => s.id },
  { title: 'NAME', show: (s) => s.name, tone: () => 'strong' },
  { title: 'STATE', show: (s) => s.state, tone: (s) => toneOfState(s.state) },
  { title: 'ENVIRONMENT', show: (s) => s.environment },
  { title: 'HARNESS', show: (s) => s.harness },
  { title: 'TURNS', show: (s) => String(s.turn_count) },
  {
    title: 'ACTIVE',
    show: (s) => agoText(s.last_active_at, now),
    value: (s) => s.last_active_at,
  },
  {
    title: 'LAST SUMMARY',
    show: (s) => (s.attention_count > 0 ? `! ${s.state_reason}` : s.last_summary),
    value: (s) => s.last_summary,
    shrinks: true,
  },
];

/** One line after a change: who it is and what it is now. A pipe gets id, name, state, reason. */
export function sayState(output: Output, session: SessionDocument): void {
  const { id, name, state } = session;
  const reason = session.state_reason.replace(/[\t\r\n]+/g, ' ');
  if (!output.isTty) return output.line([id, name, state, reason].join('\t'));
  const because = reason === '' ? '' : `: ${harmless(reason)}`;
  output.line(`${name} (${id}) is ${output.paint(toneOfState(state), state)}${because}`);
}

/** The agent's last words on stdout; what the turn took on stderr. */
export function sayTurn(output: Output, session: SessionDocument, turn: TurnDocument): void {
  output.line(output.isTty ? harmless(turn.summary) : turn.summary);
  output.note(`${session.name}: ${turnText(turn)}`);
}

/** How a turn ended, and what it took. */
export function turnText(turn: TurnDocument): string {
  const took =
    turn.started_at && turn.finished_at
      ? ` in ${durationText((Date.parse(turn.finished_at) - Date.parse(turn.started_at)) / 1000)}`
      : '';
  const parts = [`turn ${turn.number} ${turn.outcome ?? 'is running'}${took}`];
  if (turn.usage) parts.push(usageText(turn.usage));
  if (turn.checkpoint_id) parts.push(`checkpoint ${turn.checkpoint_id}`);
  return parts.join(', ');
}

export function usageText(usage: NonNullable<TurnDocument['usage']>): string {
  const tokens = `${usage.input_tokens + usage.output_tokens} tokens`;
  return usage.cost_usd === undefined ? tokens : `${tokens}, $${usage.cost_usd.toFixed(2)}`;
}
