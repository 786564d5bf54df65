import type { Presence } from '@hangar/messaging';
import type { SandboxDriver, SandboxRef } from '@hangar/sandbox-drivers';

export interface TerminalWatch {
  /** Told of each sandbox with every pass of the reaper. */
  look(ref: SandboxRef): void;
}

/** More seldom than this would miss what counts as activity, which lasts 90 s [X4]. */
const LOOK_MS = 30_000;
/** A sandbox that was not seen for this long is forgotten. */
const FORGET_MS = 600_000;

/**
 * A terminal that nobody looks at is in use for as long as it prints: a build goes on when its
 * viewer has left. What is shown to viewers, the byte streams see themselves.
 */
export function createTerminalWatch(options: {
  driver: Pick<SandboxDriver, 'terminals'>;
  presence: Pick<Presence, 'touch'>;
  now(): Date;
}): TerminalWatch {
  const { driver, presence, now } = options;
  const seen = new Map<string, { atMs: number; printed: number | null }>();
  const read = async (ref: SandboxRef): Promise<void> => {
    const terminals = await driver.terminals.list(ref);
    const printed = terminals.reduce((sum, each) => sum + each.printed, 0);
    const before = seen.get(ref.id);
    if (before?.printed != null && printed > before.printed) await presence.touch(ref.id);
    if (before) before.printed = printed;
  };
  return {
    look(ref) {
      const atMs = now().getTime();
      const before = seen.get(ref.id);
      if (before && atMs - before.atMs < LOOK_MS) return;
      seen.set(ref.id, { atMs, printed: before?.printed ?? null });
      for (const [id, each] of seen) if (atMs - each.atMs > FORGET_MS) seen.delete(id);
      // One that cannot be asked now is asked again; one that is being suspended is not kept up.
      void read(ref).catch(() => undefined);
    },
  };
}
