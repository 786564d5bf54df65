import { ACTIVE_SECONDS, type Presence, type Transaction } from '@hangar/messaging';
import type { SessionCommand } from './session.commands.ts';

/**
 * A sandbox that asks whether it may go was at rest when it asked. Whoever came in since is seen here,
 * under the lock that also closes it: judged and decided in one step [X4].
 */
export async function withPresence(
  presence: Presence,
  command: SessionCommand,
  tx: Transaction,
): Promise<SessionCommand> {
  if (command.type !== 'KeepOrSuspend') return command;
  const { lastActiveAt, held } = await presence.read(command.data.sandbox_id, tx);
  const restsMs = lastActiveAt ? Date.parse(command.now) - lastActiveAt.getTime() : Infinity;
  const busy = command.data.busy === true || held || restsMs < ACTIVE_SECONDS * 1000;
  return { ...command, data: { ...command.data, busy } };
}
