import type { EventDocument, EventMap, EventName } from '@hangar/contracts';

/** The event's payload when it is of that type, else null. */
export const payloadOf = <Name extends EventName>(
  event: EventDocument,
  type: Name,
): EventMap[Name] | null =>
  event.type === type ? (event.data as unknown as EventMap[Name]) : null;
