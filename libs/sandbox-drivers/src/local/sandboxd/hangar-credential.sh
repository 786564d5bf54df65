#!/bin/sh
# Asks hangar for a credential of this sandbox's session and prints it.
#   hangar-credential secret NAME         the value of a secret that the environment names
#   hangar-credential git get|store|erase a credential helper of git; attributes on stdin
# A shell script and not a program for Node, whose start costs ten times as much as all of this.
# Exit 1, with the reason on stderr, when hangar refuses or does not answer.
set -eu
# A little longer than sandboxd waits for hangar: it has the better words.
wait_seconds=60
# Of one request; up to here a pipe takes it in one piece.
request_characters_max=4000
directory=${HANGAR_CREDENTIALS:?hangar-credential works in a sandbox of hangar only}
case "${1-}" in
  secret) attributes="operation=secret
name=${2:?the name of a secret}" ;;
  git)
    operation=${2:?get, store or erase}
    # hangar has what git would store.
    [ "$operation" != store ] || exit 0
    attributes="operation=$operation
$(cat)" ;;
  *) echo "hangar-credential: use secret NAME, or git get|store|erase" >&2; exit 2 ;;
esac
if [ ${#attributes} -gt $request_characters_max ]; then
  echo 'hangar: the request for a credential is too long' >&2
  exit 1
fi
request=$directory/credentials
reply=reply.$$
[ -p "$request" ] || mkfifo -m 600 "$request" 2>/dev/null || true
rm -f "$directory/$reply"
trap 'rm -f "$directory/$reply"' EXIT
trap 'exit 1' HUP INT TERM
mkfifo -m 600 "$directory/$reply"
# Open until the answer is there: what was written waits in the pipe while sandboxd starts again.
exec 3<>"$request"
printf 'reply=%s\n%s\n\n' "$reply" "$attributes" >&3
timeout $wait_seconds cat "$directory/$reply" | {
  if ! read -r status; then
    echo "hangar: no answer within $wait_seconds seconds; try again" >&2
    exit 1
  fi
  [ "$status" = refused ] || exec cat
  cat >&2
  exit 1
}
