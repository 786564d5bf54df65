import type { ActivityItem, DecisionDocument, Page } from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import {
  followActivity,
  type ActivityMoment,
  type FollowOptions,
} from '../live/activity-follow.ts';
import { sessionPath, type CallOptions } from './call-options.ts';

export interface ActivityCalls {
  /**
   * What the agent did, oldest first. `after` is the cursor of an item, `N.0.0` for what comes
   * before turn N, or left out for the beginning; `next_cursor` is the `after` of the next page.
   */
  list(
    ref: string,
    query?: { after?: string | undefined; limit?: number | undefined },
    options?: CallOptions,
  ): Promise<Page<ActivityItem>>;
  /**
   * The same as it happens, for ever, as `events.session` does: items in order, without gap or
   * repeat, and between them text that is being written, which is not repeated after a reconnect.
   */
  follow(ref: string, options?: FollowOptions): AsyncGenerator<ActivityMoment, never, void>;
}

export interface DecisionCalls {
  /** Tool calls, allowed or denied, in the order of the turns [A3]. */
  list(
    ref: string,
    query?: { turn?: number | undefined; limit?: number | undefined; cursor?: string | undefined },
    options?: CallOptions,
  ): Promise<Page<DecisionDocument>>;
}

export const createActivityCalls = (transport: Transport): ActivityCalls => ({
  list: (ref, query = {}, options = {}) =>
    transport.json({
      method: 'GET',
      path: sessionPath(ref, '/activity'),
      query: { ...query },
      signal: options.signal,
    }),
  follow: (ref, options = {}) => followActivity(transport, ref, options),
});

export const createDecisionCalls = (transport: Transport): DecisionCalls => ({
  list: (ref, query = {}, options = {}) =>
    transport.json({
      method: 'GET',
      path: sessionPath(ref, '/decisions'),
      query: { ...query },
      signal: options.signal,
    }),
});
