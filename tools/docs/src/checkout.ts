import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The root of this checkout, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Files that are in git or may be added to it, relative to the root. */
export function files(...patterns: string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...patterns], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listed.split('\n').filter((file) => file !== '');
}
