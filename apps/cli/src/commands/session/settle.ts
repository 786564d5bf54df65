import type { SessionOutcome } from '@hangar/contracts';
import type { RunOptions } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { notReached, follow, type Followed } from '../../wait/follow.ts';
import { waitsOnPerson, type Goal } from '../../wait/goal.ts';
import { openAsks } from './cards.ts';
import { sayState, sayTurn } from './session-text.ts';

type Run = Pick<RunOptions, 'client' | 'output' | 'terminal' | 'waitSeconds'>;

/** Before a change that is waited for: the events after this version are its own. */
export const versionBefore = async (options: Run, ref: string): Promise<number> =>
  options.waitSeconds === null ? 0 : (await options.client.sessions.get(ref)).version;

/**
 * Ends a command that changed a session: at once with its state, or with `--wait` when the goal
 * has its verdict. A verdict against it is a Failure with what was kept.
 */
export async function settle(
  options: Run,
  session: SessionOutcome,
  wait: { goal: Goal; fromVersion: number },
): Promise<number> {
  const { output, waitSeconds } = options;
  if (waitSeconds === null) {
    output.result(session, () => sayState(output, session));
    return EXIT.ok;
  }
  const { session: now, verdict } = await reach({ ...options, waitSeconds }, session, wait);
  const turn = now.turns.find(({ number }) => number === verdict.turn);
  output.result(now, () => (turn ? sayTurn(output, now, turn) : sayState(output, now)));
  return EXIT.ok;
}

/** What the running turn asked before a wait, no event will tell of. Throws as the wait would. */
export function requireNothingAsked(session: SessionOutcome, now: Date): void {
  const running = session.turns.find(({ outcome }) => outcome === null)?.number;
  const ask = openAsks(session).find(({ turn }) => turn === running);
  if (ask) throw notReached({ session, verdict: waitsOnPerson(ask.turn, ask.text) }, now);
}

/** Waits for the verdict; one against it is thrown, with what was kept. */
export async function reach(
  options: Run & { waitSeconds: number },
  { id, name }: SessionOutcome,
  { goal, fromVersion }: { goal: Goal; fromVersion: number },
): Promise<Followed> {
  const { client, output, terminal, waitSeconds } = options;
  const followed = await follow(
    { client, output, terminal, ref: id, name, fromVersion, waitSeconds },
    goal,
  );
  if (!followed.verdict.reached) throw notReached(followed, terminal.now());
  return followed;
}
