/**
 * Brings the repository to its place inside the sandbox, as the sandbox's user [R4]. A second run
 * after a crash starts anew, a third after success is quiet. Arguments: url, base branch or empty,
 * session branch, directory, purpose (start or resume), mirror directory or empty, `no-files` when
 * a restore writes them: it makes each once, and need not look for what else is there. Exit 3: the
 * base branch does not exist.
 */
export const CHECKOUT_SCRIPT = `
set -eu
url=$1 base=$2 branch=$3 work=$4 purpose=$5 mirror=$6 files=$7
mark="$HOME/.hangar/checked-out"
[ -e "$mark" ] && exit 0
mkdir -p "$HOME/.hangar" "$(dirname "$work")"
rm -rf -- "$work"
if [ -z "$url" ]; then
  mkdir -p -- "$work"
  : >"$mark"
  exit 0
fi
how=-q
[ "$files" != no-files ] || how="$how --no-checkout"
# What a mirror of the remote has is borrowed from there; the remote is asked for what is new.
[ -z "$mirror" ] || [ ! -e "$mirror/fed" ] || how="$how --reference-if-able $mirror"
export GIT_TERMINAL_PROMPT=0
if [ -n "$base" ]; then
  if ! git clone $how --branch "$base" -- "$url" "$work" 2>"$HOME/.hangar/clone.err"; then
    if grep -q 'Remote branch .* not found' "$HOME/.hangar/clone.err"; then
      # A resume brings the base along; a start has to have it.
      [ "$purpose" = resume ] || exit 3
      rm -rf -- "$work"
      git clone $how -- "$url" "$work"
    else
      cat "$HOME/.hangar/clone.err" >&2
      exit 1
    fi
  fi
else
  git clone $how -- "$url" "$work"
fi
cd "$work"
if head=$(git rev-parse -q --verify HEAD); then
  # The files are the branch's already: a checkout would only read every one of them again.
  git update-ref -m "branch: created from $head" "refs/heads/$branch" "$head"
  git symbolic-ref -m "checkout: moving to $branch" HEAD "refs/heads/$branch"
else
  git symbolic-ref HEAD "refs/heads/$branch"
fi
: >"$mark"
`;

/** A path or file:// remote has to be visible inside; other remotes are reached over the network. */
export function localRemote(repo: string): string | null {
  if (repo.startsWith('file://')) return decodeURIComponent(new URL(repo).pathname);
  return repo.startsWith('/') ? repo : null;
}

/** What git prints repeats the URL; a password in it is nobody's business, also one with an `@`. */
export const withoutUserinfo = (text: string): string => text.replaceAll(/\/\/[^/\s]*@/g, '//');
