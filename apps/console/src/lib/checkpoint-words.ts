/** What a part of a checkpoint holds, by its name (docs/formats/checkpoint.md). */
export const CHECKPOINT_PARTS: Record<string, string> = {
  'agent.tgz': 'The conversation',
  'repo.bundle': 'Commits, branches, tags, stashes',
  'wip.patch': 'Staged and unstaged changes',
  'untracked.tgz': 'Untracked files',
  gitstate: 'The index, references and what is in progress',
  'changes.json': 'The list of changes',
  'meta.json': 'What it holds and where it was',
};

export function reasonText(reason: string, turn: number): string {
  const after = turn === 0 ? 'before the first turn' : `after turn ${turn}`;
  switch (reason) {
    case 'turn':
      return turn === 0 ? after : `After turn ${turn}`;
    case 'talk':
      return `After a talk in a terminal, ${after}`;
    case 'suspend':
      return `When it was suspended, ${after}`;
    case 'destroy':
      return `Before its sandbox went, ${after}`;
    case 'manual':
      return `Asked for, ${after}`;
    case 'interval':
      return `In between, ${after}`;
    default:
      return `${reason}, ${after}`;
  }
}
