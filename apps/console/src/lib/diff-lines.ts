import type { LineComment } from '@hangar/contracts';

type Side = LineComment['side'];

/** The text of a line of a unified diff, by its number in the old or the new file; null when the diff does not show it. */
export function diffLine(diff: string, side: Side, line: number): string | null {
  let oldLine = 0;
  let newLine = 0;
  let isInHunk = false;
  for (const text of diff.split('\n')) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(text);
    if (hunk) {
      [oldLine, newLine] = [Number(hunk[1]), Number(hunk[2])];
      isInHunk = true;
      continue;
    }
    if (!isInHunk || text.startsWith('\\')) continue;
    const isOld = !text.startsWith('+');
    const isNew = !text.startsWith('-');
    if (side === 'old' && isOld && oldLine === line) return text.slice(1);
    if (side === 'new' && isNew && newLine === line) return text.slice(1);
    if (isOld) oldLine += 1;
    if (isNew) newLine += 1;
  }
  return null;
}

export interface DiffCount {
  added: number;
  removed: number;
}

export function countLines(diff: string | null): DiffCount {
  const count = { added: 0, removed: 0 };
  for (const text of (diff ?? '').split('\n')) {
    if (text.startsWith('+') && !text.startsWith('+++ ')) count.added += 1;
    if (text.startsWith('-') && !text.startsWith('--- ')) count.removed += 1;
  }
  return count;
}
