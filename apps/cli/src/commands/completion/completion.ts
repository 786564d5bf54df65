import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { refused } from '../../failure.ts';
import { bashScript, fishScript, zshScript, type CompletionWord } from './scripts.ts';

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Made with the list of commands, which this one is in itself. */
export const createCompletionCommand = (words: () => CompletionWord[]) =>
  defineCommand({
    path: ['completion'],
    summary: 'Print the completion script of a shell',
    description:
      'bash:  source <(hangar completion bash)\n' +
      'zsh:   hangar completion zsh > "${fpath[1]}/_hangar"\n' +
      'fish:  hangar completion fish > ~/.config/fish/completions/hangar.fish',
    args: { shell: { help: 'bash, zsh or fish' } },
    flags: {},
    examples: ['hangar completion bash'],
    json: '{shell, script}',
    routes: [],
    async run({ args, output }) {
      if (!isShell(args.shell)) {
        throw refused(`No completion for ${args.shell}.`, 'Use bash, zsh or fish.');
      }
      const script = SHELLS[args.shell](words());
      output.result({ shell: args.shell, script }, () => output.line(script.trimEnd()));
      return EXIT.ok;
    },
  });

const isShell = (text: string): text is keyof typeof SHELLS => Object.hasOwn(SHELLS, text);
