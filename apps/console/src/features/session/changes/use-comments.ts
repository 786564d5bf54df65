import { newIdempotencyKey } from '@hangar/client';
import type { LineComment } from '@hangar/contracts';
import { useDraft, type DraftComment } from '../../../lib/drafts.ts';
import { useOpenedSession } from '../session-context.tsx';

/** The comments that are to go to the agent; they are kept beside the draft of the message. */
export function useComments() {
  const { id } = useOpenedSession();
  const { draft, change } = useDraft(id);
  return {
    comments: draft.comments,
    add: (comment: LineComment): void =>
      change({ comments: [...draft.comments, { ...comment, id: newIdempotencyKey() }] }),
    remove: ({ id: gone }: Pick<DraftComment, 'id'>): void =>
      change({ comments: draft.comments.filter((each) => each.id !== gone) }),
  };
}
