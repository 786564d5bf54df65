import { HANDOFF_BYTES_MAX, clip } from '@hangar/contracts';
import { TURN_TEXT_CHARACTERS_MAX } from './turn-text.ts';
import type { Session } from './session.ts';

/** Room for the line that says how many turns are left out. */
const OMITTED_BYTES_MAX = 64;

/**
 * The account of a session for an agent that has no memory of it (seeds/000 5.5): the original
 * task, each turn's message and summary, the branch. Lossy, and labelled so. Empty before the
 * first turn. The oldest turns after the first go first when it would be too long.
 */
export function handoffText(s: Session): string {
  const turns = s.turns.filter((t) => t.finished_at !== null);
  const first = turns[0];
  if (!first) return '';
  const account = (t: (typeof turns)[number]): string =>
    `Turn ${t.number} (${t.outcome}):\nMessage: ${clip(t.message, TURN_TEXT_CHARACTERS_MAX)}\n` +
    `Summary: ${clip(t.summary || '(none)', TURN_TEXT_CHARACTERS_MAX)}\n`;
  const head =
    'You continue work that another conversation began. That conversation is not available; ' +
    'this is a summary of it, and details are missing. The files are as they were left.\n\n' +
    `Original task: ${clip(first.message, TURN_TEXT_CHARACTERS_MAX)}\n` +
    `Branch: ${s.branch}\nWorking directory: ${s.cwd}\n\n`;
  let tail = '';
  let left = 0;
  for (const t of [...turns].reverse()) {
    const next = account(t);
    if (Buffer.byteLength(head + tail + next) > HANDOFF_BYTES_MAX - OMITTED_BYTES_MAX) break;
    tail = next + tail;
    left += 1;
  }
  const omitted = turns.length - left;
  return head + (omitted ? `(${omitted} earlier turns are left out.)\n` : '') + tail;
}
