/** A command as completion sees it. */
export interface CompletionWord {
  /** Noun and verb, or one word. */
  path: readonly string[];
  summary: string;
  /** With their dashes. */
  flags: string[];
  /** Its first value is a session. */
  takesSession: boolean;
}

/** The first field of a pipe's list is the id, the second the name. */
const SESSION_NAMES = 'hangar session list 2>/dev/null | cut -f2';

const nounsOf = (words: CompletionWord[]): string[] => [
  ...new Set(words.map(({ path }) => path[0] ?? '')),
];

const verbsOf = (words: CompletionWord[], noun: string): CompletionWord[] =>
  words.filter(({ path }) => path[0] === noun && path.length > 1);

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function bashScript(words: CompletionWord[]): string {
  const cases = words.map(({ path, flags, takesSession }) => {
    const values = takesSession ? `; values=$(${SESSION_NAMES})` : '';
    return `    ${quoted(path.join(' '))}) flags=${quoted(flags.join(' '))}${values} ;;`;
  });
  const nouns = nounsOf(words).flatMap((noun) => {
    const verbs = verbsOf(words, noun).map(({ path }) => path[1]);
    return verbs.length > 0 ? [`    ${noun}) verbs=${quoted(verbs.join(' '))} ;;`] : [];
  });
  return `# bash completion for hangar
_hangar() {
  local word=\${COMP_WORDS[COMP_CWORD]} verbs='' flags='' values='' place=2
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted(nounsOf(words).join(' '))} -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]} in
${nouns.join('\n')}
  esac
  if [ -n "$verbs" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$verbs" -- "$word"))
    return
  fi
  local command=\${COMP_WORDS[1]}
  [ -n "$verbs" ] && command="$command \${COMP_WORDS[2]}" && place=3
  case $command in
${cases.join('\n')}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [ "$COMP_CWORD" -eq "$place" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  else
    COMPREPLY=()
  fi
}
complete -o default -F _hangar hangar
`;
}

export function zshScript(words: CompletionWord[]): string {
  const described = (name: string, summary: string): string =>
    quoted(`${name.replaceAll(':', '\\:')}:${summary}`);
  const nouns = nounsOf(words).map((noun) => {
    const single = words.find(({ path }) => path.length === 1 && path[0] === noun);
    return described(noun, single?.summary ?? `${noun} commands`);
  });
  const verbs = nounsOf(words).flatMap((noun) => {
    const list = verbsOf(words, noun).map(({ path, summary }) => described(path[1] ?? '', summary));
    return list.length > 0 ? [`    ${noun}) verbs=(${list.join(' ')}) ;;`] : [];
  });
  const cases = words.map(({ path, flags, takesSession }) => {
    const values = takesSession ? `; values=(\${(f)"$(${SESSION_NAMES})"})` : '';
    return `    ${quoted(path.join(' '))}) flags=(${flags.join(' ')})${values} ;;`;
  });
  return `#compdef hangar
_hangar() {
  local -a verbs flags values
  local place=3 command=$words[2]
  if (( CURRENT == 2 )); then
    local -a nouns=(${nouns.join(' ')})
    _describe 'command' nouns
    return
  fi
  case $words[2] in
${verbs.join('\n')}
  esac
  if (( \${#verbs} && CURRENT == 3 )); then
    _describe 'verb' verbs
    return
  fi
  if (( \${#verbs} )); then command="$command $words[3]"; place=4; fi
  case $command in
${cases.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    compadd -- $flags
  elif (( CURRENT == place )) && (( \${#values} )); then
    compadd -- $values
  else
    _files
  fi
}
if [ "$funcstack[1]" = _hangar ]; then _hangar; else compdef _hangar hangar; fi
`;
}

export function fishScript(words: CompletionWord[]): string {
  const lines = ['# fish completion for hangar', 'complete -c hangar -f'];
  for (const noun of nounsOf(words)) {
    const single = words.find(({ path }) => path.length === 1 && path[0] === noun);
    const help = quoted(single?.summary ?? `${noun} commands`);
    lines.push(`complete -c hangar -n __fish_use_subcommand -a ${noun} -d ${help}`);
    const verbs = verbsOf(words, noun);
    const names = verbs.map(({ path }) => path[1]).join(' ');
    for (const { path, summary } of verbs) {
      const when = `__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${names}`;
      lines.push(`complete -c hangar -n ${quoted(when)} -a ${path[1]} -d ${quoted(summary)}`);
    }
  }
  for (const { path, flags, takesSession } of words) {
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    for (const flag of flags) {
      lines.push(`complete -c hangar -n ${quoted(seen)} -l ${flag.replace(/^--/, '')}`);
    }
    if (takesSession) {
      lines.push(`complete -c hangar -n ${quoted(seen)} -a ${quoted(`(${SESSION_NAMES})`)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}
