import type { SessionDocument } from '@hangar/contracts';

type Continuity = NonNullable<SessionDocument['continuity']>;

const PARTS = {
  conversation: 'the conversation',
  commits: 'commits',
  staged: 'staged changes',
  unstaged: 'unstaged changes',
  untracked: 'untracked files',
  ignored: 'ignored files',
  processes: 'processes',
} as const satisfies Partial<Record<keyof Continuity, string>>;

const joined = (words: string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** What a resume brought back and what it did not [R2], a sentence a line; null before the first. */
export function continuityOf(continuity: Continuity | null): string[] | null {
  if (!continuity) return null;
  const parts = Object.entries(PARTS) as [keyof typeof PARTS, string][];
  const kept = parts.filter(([part]) => continuity[part].state === 'kept').map(([, word]) => word);
  const others = parts.filter(([part]) => continuity[part].state !== 'kept');
  return [
    ...(kept.length > 0 ? [`Came back whole: ${joined(kept)}.`] : []),
    ...others.map(([part, word]) => {
      const { state, detail } = continuity[part];
      const how = state === 'partly' ? 'Came back in part' : 'Did not come back';
      return `${how}: ${word}${detail ? ` (${detail})` : ''}.`;
    }),
    ...continuity.losses.map(({ path, reason }) => `Lost: ${path ? `${path}, ` : ''}${reason}.`),
  ];
}
