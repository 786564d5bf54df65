import type { SessionEvent } from '@hangar/contracts';
import type { ViewChange, ViewRow } from '../views/view-change.ts';

type MessageEvent = Extract<
  SessionEvent,
  {
    type:
      | 'MessageQueued'
      | 'SteerRequested'
      | 'MessageReturned'
      | 'MessageDelivered'
      | 'MessageTakenBack'
      | 'MessageFailed';
  }
>;

/** A message is queued, delivered, taken_back or failed, and its row says which [M4]. */
export function projectMessage(
  session_id: string,
  event: MessageEvent,
  ordinal: number,
): ViewChange[] {
  const { message_id } = event.data;
  const become = (row: ViewRow): ViewChange[] => [
    { op: 'set', table: 'message_view', where: { session_id, message_id }, row },
  ];
  switch (event.type) {
    case 'MessageQueued': {
      const { text, mode, queued_at } = event.data;
      const rest = {
        text,
        mode,
        status: 'queued',
        reason: null,
        turn: null,
        offered: false,
        queued_at,
      };
      return [
        { op: 'add', table: 'message_view', row: { session_id, message_id, ordinal, ...rest } },
      ];
    }
    case 'SteerRequested':
      return become({ offered: true });
    case 'MessageReturned':
      return become({ offered: false });
    case 'MessageDelivered':
      return become({ status: 'delivered', turn: event.data.turn, offered: false });
    case 'MessageTakenBack':
      return become({ status: 'taken_back', offered: false });
    case 'MessageFailed':
      return become({ status: 'failed', reason: event.data.reason, offered: false });
  }
}
