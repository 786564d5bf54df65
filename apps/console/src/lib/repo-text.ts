/** The last two parts of where a repository is: `acme/app`; null without one. */
export function repoText(repo: string | null): string | null {
  if (repo === null) return null;
  const parts = repo
    .replace(/\.git\/?$/, '')
    .split(/[/:]/)
    .filter((part) => part !== '');
  return parts.slice(-2).join('/');
}
