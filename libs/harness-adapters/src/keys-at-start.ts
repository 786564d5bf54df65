import type { TurnSpec } from './harness-adapter.ts';

/**
 * For a CLI that has no way of asking for a key by itself: it is asked for right before the start,
 * and stands for the turn. A key that is not given is the CLI's to complain of.
 */
export function withKeysAtStart(
  { keyCommands }: Pick<TurnSpec, 'keyCommands'>,
  names: readonly string[],
  argv: string[],
): string[] {
  const lines = names.flatMap((name) => {
    const command = keyCommands[name];
    return command === undefined ? [] : [`${name}=$(${command}) && export ${name}`];
  });
  if (lines.length === 0) return argv;
  return ['/bin/sh', '-c', [...lines, 'exec "$@"'].join('\n'), 'turn', ...argv];
}
