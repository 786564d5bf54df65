import type {
  ContinuityPart,
  ContinuityState,
  RestoreRequest,
  SkippedEntry,
  WarningEntry,
} from './contract.ts';
import { hasPart } from './extract.ts';
import { fromText } from './byte-path.ts';

const KEPT: ContinuityState = { state: 'kept' };
const NAMED_MAX = 5;

const REASONS: Record<SkippedEntry['reason'], string> = {
  file_cap: 'larger than the cap for one file',
  untracked_cap: 'over the cap for untracked files',
  part_cap: 'over the cap for one part',
  unreadable: 'could not be read',
  special_file: 'a special file',
  changed_while_read: 'changed while it was read',
};

const partly = (paths: readonly string[], what: string): ContinuityState => {
  const shown = paths.slice(0, NAMED_MAX).join(', ');
  const more = paths.length > NAMED_MAX ? ` and ${paths.length - NAMED_MAX} more` : '';
  return { state: 'partly', detail: `${what}: ${shown}${more}` };
};

/** Per part what came back and what did not (R2); skipped content becomes losses by name. */
export function describeContinuity(
  request: RestoreRequest,
  losses: WarningEntry[],
  found: { keptBack: number; cutHistory: boolean; dropped: number },
): Record<ContinuityPart, ContinuityState> {
  const skipped = request.meta.skipped ?? [];
  for (const item of skipped) losses.push({ path: item.path, reason: REASONS[item.reason] });
  const ofHome = skipped.filter((item) => item.path.startsWith('~/'));
  const ofTree = skipped.filter((item) => !item.path.startsWith('~/'));
  const tags = ofTree.filter((item) => item.path.startsWith('refs/'));
  const capped = ofTree.filter((item) => item.reason === 'part_cap' && !tags.includes(item));
  const others = ofTree.filter((item) => !capped.includes(item) && !tags.includes(item));
  const names = (items: readonly SkippedEntry[]): string[] => items.map((item) => item.path);
  return {
    conversation: conversationState(request, ofHome),
    commits: commitsState(found),
    staged: capped.length > 0 ? partly(names(capped), 'over the cap') : KEPT,
    unstaged:
      found.keptBack > 0 || capped.length > 0
        ? partly(names(ofTree), 'changes that were not kept')
        : KEPT,
    untracked: others.length > 0 ? partly(names(others), 'not kept') : KEPT,
    ignored: ignoredState(request),
    processes: { state: 'lost', detail: 'running processes are never part of a checkpoint' },
  };
}

function conversationState(request: RestoreRequest, skipped: SkippedEntry[]): ContinuityState {
  if (skipped.length > 0) {
    return partly(
      skipped.map((item) => item.path),
      'not kept',
    );
  }
  if (hasPart(fromText(request.parts), 'agent.tgz')) return KEPT;
  return { state: 'lost', detail: 'the checkpoint has no conversation part' };
}

function commitsState(found: { cutHistory: boolean; dropped: number }): ContinuityState {
  if (found.cutHistory) {
    return { state: 'partly', detail: 'history before the base commit is gone from the remote' };
  }
  if (found.dropped > 0) {
    return { state: 'partly', detail: `${found.dropped} refs whose commits are not to be had` };
  }
  return KEPT;
}

function ignoredState(request: RestoreRequest): ContinuityState {
  const { count, paths } = request.meta.ignored ?? { count: 0, paths: [] };
  if (count === 0) return KEPT;
  const shown = paths.slice(0, NAMED_MAX).join(', ');
  return { state: 'lost', detail: `${count} ignored paths are not kept: ${shown}` };
}
