/**
 * Brings the repository to its place inside the sandbox, as the sandbox's user [R4]. A second run
 * after a crash starts anew, a third after success is quiet. Arguments: url, base branch or empty,
 * session branch, directory, purpose (start or resume). Exit 3: the base branch does not exist.
 */
export const CHECKOUT_SCRIPT = `
set -eu
url=$1 base=$2 branch=$3 work=$4 purpose=$5
mark="$HOME/.hangar/checked-out"
[ -e "$mark" ] && exit 0
mkdir -p "$HOME/.hangar" "$(dirname "$work")"
rm -rf -- "$work"
if [ -z "$url" ]; then
  mkdir -p -- "$work"
  : >"$mark"
  exit 0
fi
reference=
[ -d /hangar/mirror.git ] && reference="--reference-if-able /hangar/mirror.git"
export GIT_TERMINAL_PROMPT=0
if [ -n "$base" ]; then
  if ! git clone -q $reference --branch "$base" -- "$url" "$work" 2>"$HOME/.hangar/clone.err"; then
    if grep -q 'Remote branch .* not found' "$HOME/.hangar/clone.err"; then
      # A resume brings the base along; a start has to have it.
      [ "$purpose" = resume ] || exit 3
      rm -rf -- "$work"
      git clone -q $reference -- "$url" "$work"
    else
      cat "$HOME/.hangar/clone.err" >&2
      exit 1
    fi
  fi
else
  git clone -q $reference -- "$url" "$work"
fi
cd "$work"
if git rev-parse -q --verify HEAD >/dev/null; then
  git checkout -q --no-track -B "$branch"
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
