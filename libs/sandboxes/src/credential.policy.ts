import type { GitCredential, Recipe } from '@hangar/contracts';

/** A request that is allowed, and what to do for it. */
export type CredentialStep =
  | { type: 'secret'; name: string }
  /** A key of hangar's own environment, for runs without a secret of that name. */
  | { type: 'machine'; name: string }
  | { type: 'git'; credential: GitCredential; path: string }
  /** git was refused with a value: it is not good any more. */
  | { type: 'refused'; credential: GitCredential; path: string; value: string };

export type CredentialVerdict = { step: CredentialStep } | { refused: string };

/**
 * What processes of a session's sandbox may have: what its environment names, as it is now, and
 * nothing else. `machineKeys` are the names of the provider keys in hangar's own environment.
 */
export function judgeCredential(
  request: Readonly<Record<string, string>>,
  recipe: Pick<Recipe, 'name' | 'secrets' | 'git'>,
  machineKeys: readonly string[],
): CredentialVerdict {
  switch (request['operation']) {
    case 'secret':
      return judgeSecret(request['name'] ?? '', recipe, machineKeys);
    case 'get':
    case 'erase':
      return judgeGit(request, recipe);
    default:
      return { refused: 'that is not a request for a credential' };
  }
}

function judgeSecret(
  name: string,
  { name: environment, secrets }: Pick<Recipe, 'name' | 'secrets'>,
  machineKeys: readonly string[],
): CredentialVerdict {
  if (secrets.includes(name)) return { step: { type: 'secret', name } };
  if (machineKeys.includes(name)) return { step: { type: 'machine', name } };
  return {
    refused: `the environment ${environment} names no secret ${JSON.stringify(name)}; add it to \`secrets\` in its recipe`,
  };
}

function judgeGit(
  request: Readonly<Record<string, string>>,
  { name: environment, git }: Pick<Recipe, 'name' | 'git'>,
): CredentialVerdict {
  const { protocol = '', host = '', path = '', password } = request;
  // A token that was sent in the clear once is everybody's.
  if (protocol !== 'https') return { refused: 'hangar has credentials for https only' };
  const credential = isPlain(path) ? bestOf(git, host.toLowerCase(), path) : null;
  if (!credential) {
    const where = path ? `${host}/${path}` : host;
    return {
      refused: `the environment ${environment} names no credential for ${where}; add it to \`git\` in its recipe`,
    };
  }
  if (request['operation'] === 'get') return { step: { type: 'git', credential, path } };
  return password === undefined
    ? { refused: 'a credential is given back with its password' }
    : { step: { type: 'refused', credential, path, value: password } };
}

/** What the server would make another path of is compared with none. */
const isPlain = (path: string): boolean =>
  !path.split('/').some((part) => part === '.' || part === '..');

/** The most particular one: the longest path that the asked one begins with, part by part. */
function bestOf(git: readonly GitCredential[], host: string, path: string): GitCredential | null {
  const fitting = git.filter((each) => each.host === host && covers(each.path, path));
  const length = ({ path: covered }: GitCredential): number => covered?.length ?? 0;
  return fitting.toSorted((a, b) => length(b) - length(a))[0] ?? null;
}

function covers(covered: string | undefined, path: string): boolean {
  if (covered === undefined) return true;
  const bare = covered.replace(/\.git$/, '');
  const rest = path.startsWith(bare) ? path.slice(bare.length).replace(/^\.git/, '') : null;
  return rest === '' || rest?.startsWith('/') === true;
}
