import { useQuery } from '@tanstack/react-query';
import type { ActivityItem } from '@hangar/contracts';
import { ITEMS_KEPT_MAX, mergeItems } from '../../../lib/activity-items.ts';
import { useClient } from '../../../lib/client.tsx';
import { keys } from '../../../lib/queries.ts';

const ITEMS_READ = 200;

/** What the agent did in a turn: read for those that were over, followed live for the others. */
export function useTurnActivity(sessionId: string, turn: number, isRead: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: keys.activity(sessionId, turn),
    queryFn: async ({ signal }): Promise<ActivityItem[]> => {
      let items: ActivityItem[] = [];
      let after: string | null = `${turn}.0.0`;
      while (after !== null && items.length < ITEMS_KEPT_MAX) {
        const page = await client.activity.list(
          sessionId,
          { after, limit: ITEMS_READ },
          { signal },
        );
        const own = page.items.filter((item) => item.turn === turn);
        items = mergeItems(items, own);
        after = own.length === page.items.length ? page.next_cursor : null;
      }
      return items;
    },
    enabled: isRead,
  });
}
