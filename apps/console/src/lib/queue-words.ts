import type { QueuedMessageDocument, SessionStateName } from '@hangar/contracts';

/** What a queued message waits for; `place` counts from 0 those that steer nothing. */
export function queuedText(
  message: Pick<QueuedMessageDocument, 'is_steering'>,
  state: SessionStateName,
  place: number,
): string {
  if (message.is_steering) return 'Queued: applies after the current tool call';
  if (place > 0) return `Queued: number ${place + 1} in line`;
  switch (state) {
    case 'ACTIVE':
      return 'Queued: starts the next turn';
    case 'INTERRUPTED':
      return 'Queued: waits until you retry or continue';
    case 'STARTING':
    case 'RESUMING':
    case 'SUSPENDING':
    case 'SUSPENDED':
    case 'FAILED':
      return 'Queued: waits for the sandbox';
    case 'IDLE':
      return 'Queued: is about to start';
    case 'ARCHIVED':
      return 'Not delivered';
  }
}
