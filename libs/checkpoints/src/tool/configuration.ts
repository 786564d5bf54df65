import type { ConfigEntry } from './config-file.ts';

/**
 * Which settings of the repository travel (R9). What may hold a credential, names a program or a
 * place outside, or belongs to the clone itself stays behind; the fresh clone's own is kept instead.
 */

const OF_THE_CLONE =
  /^(?:core\.(?:repositoryformatversion|bare|worktree|logallrefupdates)|extensions\..*|remote\.origin\.(?:url|pushurl|fetch|promisor|partialclonefilter)|safe\..*)$/;

const NEVER_KEPT =
  /^(?:credential\..*|http\..*|include\..*|includeif\..*|url\..*|core\.(?:sshcommand|askpass|gitproxy|fsmonitor|alternaterefscommand)|remote\..*\.(?:uploadpack|receivepack|proxy|vcs)|submodule\..*\.update|protocol\..*)$/;

/** Which of the dropped ones are worth a warning: the person set them. */
const USER_INFO = /:\/\/[^/\s@]+@/;

export const belongsToClone = (key: string): boolean => OF_THE_CLONE.test(key);

export const isNeverKept = (entry: ConfigEntry): boolean =>
  NEVER_KEPT.test(entry.key) || (entry.value !== null && USER_INFO.test(entry.value));

export interface RecordedConfig {
  kept: ConfigEntry[];
  /** Keys that were left out and are not simply the clone's own; user info is removed. */
  leftOut: string[];
}

export function recordConfig(entries: readonly ConfigEntry[]): RecordedConfig {
  const kept: ConfigEntry[] = [];
  const leftOut = new Set<string>();
  for (const entry of entries) {
    if (isNeverKept(entry)) leftOut.add(entry.key.replace(/:\/\/[^/\s@]+@/g, '://***@'));
    else if (!belongsToClone(entry.key)) kept.push(entry);
  }
  return { kept, leftOut: [...leftOut].sort() };
}

/** The fresh clone's own settings, then the recorded ones: the same again when done twice. */
export function mergeConfig(
  fresh: readonly ConfigEntry[],
  recorded: readonly ConfigEntry[],
): ConfigEntry[] {
  const own = fresh.filter((entry) => belongsToClone(entry.key) || isNeverKept(entry));
  const safe = recorded.filter((entry) => !belongsToClone(entry.key) && !isNeverKept(entry));
  return [...own, ...safe];
}
