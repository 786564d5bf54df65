import type { ActivityDelta, ActivityItem } from '@hangar/contracts';
import { sessionPath } from '../calls/call-options.ts';
import type { Transport } from '../http/transport.ts';
import { parseFrame, readEventStream, type EventStreamOptions } from './event-stream.ts';

export type FollowOptions = Omit<EventStreamOptions, 'query'>;

/** Something the agent did, or text that it is writing and that the next message has whole. */
export type ActivityMoment = { item: ActivityItem } | { delta: ActivityDelta };

export async function* followActivity(
  transport: Transport,
  ref: string,
  options: FollowOptions,
): AsyncGenerator<ActivityMoment, never, void> {
  const frames = readEventStream(transport, sessionPath(ref, '/activity/live'), options);
  try {
    for (;;) {
      const { value } = await frames.next();
      yield value.type === 'delta'
        ? { delta: parseFrame<ActivityDelta>(value) }
        : { item: parseFrame<ActivityItem>(value) };
    }
  } finally {
    // Hands the end on to the connection; there is no value to return.
    await frames.return(undefined as never);
  }
}
