import { refused } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

export const YES_FLAG = {
  yes: { kind: 'switch', help: 'do not ask; needed where there is no terminal', short: 'y' },
} as const;

/**
 * Asks before something is gone for good. Where nobody can be asked, `--yes` must have been given:
 * a script that forgot it stops with the code for "not confirmed", having changed nothing.
 */
export async function confirm(terminal: Terminal, yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!terminal.stdin.isTty || !terminal.stderr.isTty) {
    throw refused(`Not confirmed: ${question}`, 'Add --yes when you are sure.');
  }
  const answer = await terminal.stdin.ask(`${question} [y/N] `, { secret: false });
  if (!/^y(es)?$/i.test(answer.trim())) throw refused('Not confirmed.', 'Answer y to go on.');
}
