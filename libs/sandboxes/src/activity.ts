import type { Presence } from '@hangar/messaging';
import type { SandboxRef } from '@hangar/sandbox-drivers';

/** What somebody does with a sandbox, as its byte streams tell it. */
export interface Activity {
  ref: SandboxRef;
  operation: 'exec' | 'terminals' | 'runs' | 'files';
  phase: 'began' | 'ended';
}

/** An open stream keeps its sandbox busy for this long after its last sign of life. */
const HOLD_SECONDS = 90;
const HOLD_RENEWAL_MS = 30_000;

/**
 * Activity as [X4] counts it: what used the sandbox in the last 90 seconds, and terminals and
 * commands for as long as they are open. Throws once the sandbox is being suspended.
 */
export function activityObserver(presence: Presence): (activity: Activity) => Promise<void> {
  const open = new Map<string, { count: number; renewal: NodeJS.Timeout }>();
  const release = (id: string): void => {
    const held = open.get(id);
    if (!held || --held.count > 0) return;
    clearInterval(held.renewal);
    open.delete(id);
  };
  return async ({ ref, operation, phase }) => {
    const isStream = operation === 'terminals' || operation === 'exec';
    if (phase === 'ended') {
      if (isStream) release(ref.id);
      await presence.touch(ref.id);
      return;
    }
    if (!isStream) return presence.touch(ref.id);
    await presence.hold(ref.id, HOLD_SECONDS);
    const held = open.get(ref.id);
    if (held) {
      held.count += 1;
      return;
    }
    const renewal = setInterval(
      // A suspend that was forced meanwhile ends the streams by itself.
      () => void presence.hold(ref.id, HOLD_SECONDS).catch(() => undefined),
      HOLD_RENEWAL_MS,
    );
    renewal.unref();
    open.set(ref.id, { count: 1, renewal });
  };
}
