import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from './case.ts';
import { append, commit, git, remove, settle, trap, write, type Scene } from './scene.ts';

/** The groups "content" and "diffconfig": conversions between disk and repository, user settings. */
const MIXED = 'one\r\ntwo\nthree\r\n';

/** Sets a key in the repository and for the user: whichever is read, it is there. */
export function configure(scene: Scene, key: string, value: string): void {
  git(scene, ['config', key, value]);
  git(scene, ['config', '--global', key, value]);
}

export const contentCases: Case[] = [
  {
    name: 'crlf_autocrlf',
    build: (scene) => {
      git(scene, ['config', 'core.autocrlf', 'true']);
      remove(scene, 'a.txt');
      git(scene, ['checkout', '-q', '--', 'a.txt']);
      write(scene, 'b.txt', 'lf only\nsecond\n');
      write(scene, 'c.txt', MIXED);
      write(scene, 'new.txt', MIXED);
      git(scene, ['add', 'b.txt']);
    },
  },
  {
    name: 'crlf_attributes',
    build: (scene) => {
      write(scene, '.gitattributes', '*.bat text eol=crlf\n*.txt text=auto eol=lf\n');
      write(scene, 'go.bat', 'echo one\r\necho two\r\n');
      commit(scene, 'attributes');
      settle(scene);
      append(scene, 'a.txt', 'windows\r\n');
      write(scene, 'late.bat', 'unix\nends\n');
      git(scene, ['add', 'late.bat']);
      write(scene, 'go.bat', 'echo one\necho two\nmixed\r\n');
    },
  },
  {
    name: 'crlf_renormalize',
    build: (scene) => {
      write(scene, 'dos.txt', 'one\r\ntwo\r\n');
      commit(scene, 'dos ends in the repository');
      write(scene, '.gitattributes', '*.txt text\n');
      git(scene, ['add', '--renormalize', '.']);
    },
  },
  {
    name: 'filter_missing',
    build: (scene) => {
      // Files were checked out through a filter that the fresh sandbox does not have.
      git(scene, ['config', 'filter.swap.clean', 'tr a-z A-Z']);
      git(scene, ['config', 'filter.swap.smudge', 'tr A-Z a-z']);
      write(scene, '.gitattributes', '*.swp filter=swap\n');
      write(scene, 'one.swp', 'lower case on disk\n');
      write(scene, 'two.swp', 'second\n');
      commit(scene, 'filtered');
      settle(scene);
      append(scene, 'two.swp', 'edited\n');
    },
  },
  {
    name: 'filter_required_broken',
    build: (scene) => {
      write(scene, '.gitattributes', '*.enc filter=crypt\n');
      write(scene, 'one.enc', 'plain one\n');
      write(scene, 'two.enc', 'plain two\n');
      commit(scene, 'before the filter');
      settle(scene);
      append(scene, 'two.enc', 'edited: another size\n');
      git(scene, ['config', 'filter.crypt.clean', '/nonexistent/crypt']);
      git(scene, ['config', 'filter.crypt.smudge', '/nonexistent/crypt']);
      git(scene, ['config', 'filter.crypt.required', 'true']);
    },
  },
  {
    name: 'ident_and_encoding',
    build: (scene) => {
      write(scene, '.gitattributes', '*.id ident\n*.u16 text working-tree-encoding=UTF-16LE\n');
      write(scene, 'version.id', 'a $Id$ b\n');
      write(scene, 'wide.u16', Buffer.from('wide\ntext\n', 'utf16le'));
      commit(scene, 'converted');
      remove(scene, 'version.id');
      git(scene, ['checkout', '-q', '--', 'version.id']);
      settle(scene);
      write(scene, 'wide.u16', Buffer.from('wide\nchanged\n', 'utf16le'));
    },
  },
  {
    name: 'attr_diff_binary',
    build: (scene) => {
      git(scene, ['config', 'diff.upper.textconv', 'tr a-z A-Z <']);
      write(scene, '.gitattributes', '*.txt diff=upper\n*.bin -diff\nb.txt binary\n');
      append(scene, 'a.txt', 'edit\n');
      append(scene, 'b.txt', 'edit\n');
      append(scene, 'data.bin', 'edit');
    },
    look: { settings: ['diff.upper.textconv=cat'] },
  },
  {
    name: 'whitespace_errors',
    build: (scene) => {
      append(scene, 'a.txt', 'trailing   \n\t \tmixed\n\n\n\n');
      write(scene, 'b.txt', 'no newline at the end');
      write(scene, 'c.txt', '\n\n\n');
    },
  },
];

/** Settings that changed what `git diff` or `git apply` do. One state, many settings. */
const SETTINGS: Record<string, [string, string][]> = {
  noprefix: [['diff.noprefix', 'true']],
  color: [['color.ui', 'always']],
  color_diff: [['color.diff', 'always']],
  wsfix: [['apply.whitespace', 'fix']],
  wserror: [['apply.whitespace', 'error']],
  mnemonic: [['diff.mnemonicPrefix', 'true']],
  quotepath: [['core.quotePath', 'false']],
  renames: [['diff.renames', 'copies']],
  context: [['diff.context', '0']],
  srcprefix: [
    ['diff.srcPrefix', 'old/'],
    ['diff.dstPrefix', 'new/'],
  ],
  relative: [['diff.relative', 'true']],
  algorithm: [['diff.algorithm', 'patience']],
  ignorews: [['apply.ignoreWhitespace', 'change']],
  wserrhl: [['diff.wsErrorHighlight', 'all']],
  submodule: [['diff.submodule', 'log']],
  suppressblank: [['diff.suppressBlankEmpty', 'true']],
  indent: [['diff.indentHeuristic', 'false']],
  showuntracked: [['status.showUntrackedFiles', 'no']],
  safecrlf: [['core.safecrlf', 'true']],
  abbrev: [['core.abbrev', '4']],
  precious: [['core.preloadIndex', 'false']],
  defaultremote: [['checkout.defaultRemote', 'elsewhere']],
  autosetup: [['branch.autoSetupMerge', 'always']],
  fsck: [['transfer.fsckObjects', 'true']],
  sparse: [['core.sparseCheckout', 'false']],
  autostash: [['rebase.autoStash', 'true']],
  pushdef: [['remote.pushDefault', 'origin']],
  checkstat: [['core.checkStat', 'minimal']],
  trustctime: [['core.trustctime', 'false']],
  symlinks: [['core.symlinks', 'false']],
  ignorecase: [['core.ignoreCase', 'true']],
  bigfile: [['core.bigFileThreshold', '1']],
};

function buildEdits(scene: Scene): void {
  append(scene, 'a.txt', 'committed\n');
  commit(scene, 'work');
  git(scene, ['mv', 'b.txt', 'moved.txt']);
  append(scene, 'c.txt', 'trailing space   \n');
  append(scene, 'dir/d.txt', 'staged\n');
  git(scene, ['add', 'dir/d.txt']);
  append(scene, 'dir/d.txt', 'unstaged\n');
  write(scene, 'ümläut.txt', 'untracked\n');
}

const settingCases: Case[] = Object.entries(SETTINGS).map(([name, settings]) => ({
  name: `config_${name}`,
  build: (scene) => {
    buildEdits(scene);
    for (const [key, value] of settings) configure(scene, key, value);
  },
}));

export const diffconfigCases: Case[] = [
  ...settingCases,
  {
    name: 'config_external_diff',
    build: (scene) => {
      buildEdits(scene);
      configure(scene, 'diff.external', trap(scene, 'external-diff', 'echo rubbish'));
    },
  },
  {
    name: 'config_order_file',
    build: (scene) => {
      buildEdits(scene);
      configure(scene, 'diff.orderFile', '/nonexistent/order');
    },
  },
  {
    name: 'config_broken',
    build: (scene) => {
      buildEdits(scene);
      // The user's configuration breaks after the work was done; the look uses none.
      git(scene, ['config', 'user.name', 'local']);
      writeFileSync(join(scene.home, '.gitconfig'), '[user\n\tbroken = = "\n');
    },
    look: { withoutUserConfig: true },
  },
  {
    name: 'config_include',
    build: (scene) => {
      buildEdits(scene);
      writeFileSync(join(scene.work, '.git/extra.cfg'), '[alias]\n\thello = status\n');
      git(scene, ['config', 'include.path', 'extra.cfg']);
      git(scene, ['config', 'includeIf.onbranch:main.path', 'extra.cfg']);
    },
    named: [/include\.path/],
    adjust: (seen) => {
      seen.config = seen.config.filter((line) => !line.startsWith('include'));
    },
  },
];
