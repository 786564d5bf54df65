import type { SessionOutcome } from '@hangar/contracts';
import type { RunOptions } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { notReached, follow } from '../../wait/follow.ts';
import type { Goal } from '../../wait/goal.ts';
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
  const { output, terminal, waitSeconds } = options;
  if (waitSeconds === null) {
    output.result(session, () => sayState(output, session));
    return EXIT.ok;
  }
  const followed = await follow(
    {
      client: options.client,
      output,
      terminal,
      ref: session.id,
      name: session.name,
      fromVersion: wait.fromVersion,
      waitSeconds,
    },
    wait.goal,
  );
  if (!followed.verdict.reached) throw notReached(followed, terminal.now());
  const { session: now, verdict } = followed;
  const turn = now.turns.find(({ number }) => number === verdict.turn);
  output.result(now, () => (turn ? sayTurn(output, now, turn) : sayState(output, now)));
  return EXIT.ok;
}
