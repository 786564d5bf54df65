import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from './case.ts';
import { append, BRANCH, commit, git, remove, text, write, type Scene } from './scene.ts';

/** The groups "refs" and "progress": names of commits, and operations that are half done. */

export const refCases: Case[] = [
  {
    name: 'stashes',
    build: (scene) => {
      append(scene, 'a.txt', 'first stash\n');
      git(scene, ['stash', 'push', '-q', '-m', 'one']);
      append(scene, 'b.txt', 'staged in the second\n');
      git(scene, ['add', 'b.txt']);
      write(scene, 'untracked.txt', 'in the second\n');
      git(scene, ['stash', 'push', '-q', '-u', '-m', 'two']);
      append(scene, 'c.txt', 'third\n');
      git(scene, ['stash', 'push', '-q', '-m', 'three']);
      git(scene, ['stash', 'drop', '-q', 'stash@{1}']);
    },
    check: (scene) => {
      git(scene, ['stash', 'pop', '-q', '--index']);
    },
  },
  {
    name: 'branches_and_tags',
    build: (scene) => {
      git(scene, ['branch', 'plain']);
      git(scene, ['checkout', '-q', '-b', 'with-commit']);
      append(scene, 'a.txt', 'on another branch\n');
      commit(scene, 'elsewhere');
      git(scene, ['tag', 'light']);
      git(scene, ['tag', '-a', '-m', 'annotated', 'heavy']);
      git(scene, ['tag', '-a', '-m', 'nested', 'heavier', 'heavy']);
      git(scene, ['tag', 'blob', 'HEAD:a.txt']);
      git(scene, ['checkout', '-q', BRANCH]);
      git(scene, ['notes', 'add', '-m', 'a note']);
      git(scene, ['branch', '-q', '-f', 'main', 'HEAD^']);
      git(scene, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/plain']);
    },
  },
  {
    name: 'branch_deleted',
    build: (scene) => {
      git(scene, ['branch', '-q', '-D', 'main']);
      git(scene, ['tag', '-d', 'v1']);
    },
  },
  {
    name: 'branch_is_prefix',
    build: (scene) => {
      // A branch named like the directory of the session's branches, and the other way round.
      git(scene, ['branch', '-q', '-D', 'main']);
      git(scene, ['checkout', '-q', '-b', 'main/deeper']);
      append(scene, 'a.txt', 'edit\n');
      commit(scene, 'deeper');
    },
  },
  {
    name: 'reflog_only',
    build: (scene) => {
      append(scene, 'a.txt', 'to be undone\n');
      commit(scene, 'undone');
      git(scene, ['reset', '-q', '--hard', 'HEAD^']);
      append(scene, 'b.txt', 'amended away\n');
      commit(scene, 'amended');
      git(scene, ['commit', '-q', '--amend', '-m', 'the amended one']);
    },
    check: (scene) => {
      git(scene, ['cat-file', '-e', 'HEAD@{1}^{tree}']);
      git(scene, ['cat-file', '-e', 'HEAD@{3}^{tree}']);
    },
  },
  {
    name: 'head_weird',
    build: (scene) => {
      const name = 'refs/heads/we!rd/ünï,cödé-{x}';
      git(scene, ['update-ref', name, 'HEAD']);
      git(scene, ['symbolic-ref', 'HEAD', name]);
      append(scene, 'a.txt', 'edit\n');
      commit(scene, 'on a weird branch');
    },
  },
  {
    name: 'upstream_config',
    build: (scene) => {
      git(scene, ['config', 'user.name', 'Somebody Else']);
      git(scene, ['config', `branch.${BRANCH}.description`, 'two\nlines "quoted" \\ # ; end']);
      git(scene, ['config', `branch.${BRANCH}.remote`, 'origin']);
      git(scene, ['config', `branch.${BRANCH}.merge`, 'refs/heads/main']);
      git(scene, ['config', '--add', 'remote.origin.push', 'refs/heads/*:refs/heads/agent/*']);
      git(scene, ['config', 'alias.st', 'status --short']);
      git(scene, ['config', 'section.Sub.Sub 2.key', '  spaced  ']);
    },
  },
];

/** Two branches that collide in a.txt; the session's branch has commits of its own. */
function diverge(scene: Scene): void {
  git(scene, ['checkout', '-q', '-b', 'theirs']);
  write(scene, 'a.txt', text([1, 'line one'], [5, 'theirs']));
  write(scene, 'only-theirs.txt', 'x\n');
  commit(scene, 'theirs one');
  append(scene, 'a.txt', 'theirs end\n');
  commit(scene, 'theirs two');
  git(scene, ['checkout', '-q', BRANCH]);
  write(scene, 'a.txt', text([1, 'line one'], [5, 'ours']));
  commit(scene, 'ours one');
  write(scene, 'b.txt', text([8, 'ours b']));
  commit(scene, 'ours two');
}

const mayFail = { mayFail: true };

export const progressCases: Case[] = [
  {
    name: 'merge_conflict',
    build: (scene) => {
      diverge(scene);
      git(scene, ['merge', '-q', 'theirs'], mayFail);
      append(scene, 'c.txt', 'beside the conflict\n');
    },
    check: (scene) => {
      git(scene, ['checkout', '-q', '--', 'c.txt']);
      git(scene, ['merge', '--abort']);
    },
  },
  {
    name: 'merge_conflict_kinds',
    build: (scene) => {
      git(scene, ['checkout', '-q', '-b', 'theirs']);
      write(scene, 'a.txt', text([5, 'theirs']));
      remove(scene, 'b.txt');
      write(scene, 'added.txt', 'theirs\n');
      git(scene, ['mv', 'c.txt', 'c-theirs.txt']);
      remove(scene, 'dir2');
      write(scene, 'dir2', 'a file now\n');
      commit(scene, 'theirs');
      git(scene, ['checkout', '-q', BRANCH]);
      write(scene, 'a.txt', text([5, 'ours']));
      append(scene, 'b.txt', 'ours\n');
      write(scene, 'added.txt', 'ours\n');
      git(scene, ['mv', 'c.txt', 'c-ours.txt']);
      append(scene, 'dir2/f.txt', 'ours\n');
      commit(scene, 'ours');
      git(scene, ['merge', '-q', 'theirs'], mayFail);
    },
    check: (scene) => {
      git(scene, ['merge', '--abort']);
    },
  },
  {
    name: 'merge_uncommitted',
    build: (scene) => {
      diverge(scene);
      git(scene, ['merge', '-q', '--no-commit', '--no-ff', '-X', 'ours', 'theirs'], mayFail);
    },
    check: (scene) => {
      git(scene, ['commit', '-q', '--no-edit']);
    },
  },
  {
    name: 'merge_autostash',
    build: (scene) => {
      diverge(scene);
      append(scene, 'dir/d.txt', 'autostashed\n');
      git(scene, ['merge', '-q', '--autostash', 'theirs'], mayFail);
    },
    check: (scene) => {
      git(scene, ['merge', '--abort']);
      const shown = git(scene, ['diff', '--name-only']);
      if (shown !== 'dir/d.txt') throw new Error(`the autostash is lost: ${shown}`);
    },
  },
  {
    name: 'rebase_conflict',
    build: (scene) => {
      diverge(scene);
      git(scene, ['rebase', '-q', 'theirs'], mayFail);
    },
    check: (scene) => {
      write(scene, 'a.txt', 'resolved\n');
      git(scene, ['add', 'a.txt']);
      git(scene, ['rebase', '--continue']);
    },
  },
  {
    name: 'rebase_interactive_edit',
    build: (scene) => {
      diverge(scene);
      const env = { GIT_SEQUENCE_EDITOR: "sed -i '1s/^pick/edit/'" };
      git(scene, ['rebase', '-q', '-i', 'HEAD~2'], { env });
      append(scene, 'dir/d.txt', 'while editing\n');
    },
    check: (scene) => {
      git(scene, ['checkout', '-q', '--', 'dir/d.txt']);
      git(scene, ['rebase', '--continue']);
      if (git(scene, ['symbolic-ref', '--short', 'HEAD']) !== BRANCH) throw new Error('no branch');
    },
  },
  {
    name: 'rebase_apply',
    build: (scene) => {
      diverge(scene);
      git(scene, ['rebase', '-q', '--apply', 'theirs'], mayFail);
    },
    check: (scene) => {
      git(scene, ['rebase', '--abort']);
    },
  },
  {
    name: 'am_conflict',
    build: (scene) => {
      diverge(scene);
      const patches = git(scene, ['format-patch', '-q', '-o', scene.root, 'HEAD..theirs']);
      const files = patches === '' ? ['0001-theirs-one.patch', '0002-theirs-two.patch'] : [];
      const paths = files.map((name) => join(scene.root, name));
      git(scene, ['am', '-q', ...paths], mayFail);
    },
    check: (scene) => {
      git(scene, ['am', '--abort']);
    },
  },
  {
    name: 'cherry_pick_conflict',
    build: (scene) => {
      diverge(scene);
      git(scene, ['cherry-pick', 'theirs~1', 'theirs'], mayFail);
    },
    check: (scene) => {
      write(scene, 'a.txt', text([5, 'resolved']));
      git(scene, ['add', 'a.txt']);
      git(scene, ['cherry-pick', '--continue'], mayFail);
    },
  },
  {
    name: 'revert_conflict',
    build: (scene) => {
      diverge(scene);
      write(scene, 'a.txt', text([5, 'ours again']));
      commit(scene, 'ours three');
      git(scene, ['revert', '--no-edit', 'HEAD~2'], mayFail);
    },
    check: (scene) => {
      git(scene, ['revert', '--abort']);
    },
  },
  {
    name: 'bisect',
    build: (scene) => {
      for (let number = 1; number <= 6; number++) {
        append(scene, 'a.txt', `${number}\n`);
        commit(scene, `step ${number}`);
      }
      git(scene, ['bisect', 'start', 'HEAD', 'HEAD~6']);
      git(scene, ['bisect', 'good']);
    },
    check: (scene) => {
      git(scene, ['bisect', 'bad']);
      git(scene, ['bisect', 'reset']);
      if (git(scene, ['symbolic-ref', '--short', 'HEAD']) !== BRANCH) throw new Error('no branch');
    },
  },
  {
    name: 'squash_message',
    build: (scene) => {
      diverge(scene);
      git(scene, ['checkout', '-q', '-B', BRANCH, 'main']);
      git(scene, ['merge', '-q', '--squash', 'theirs']);
    },
  },
];

/** Beyond the list of the facts. */
export const moreRefCases: Case[] = [
  {
    name: 'more_rebase_autosquash',
    build: (scene) => {
      diverge(scene);
      append(scene, 'dir/d.txt', 'to squash\n');
      git(scene, ['commit', '-q', '-a', '--fixup=HEAD~1']);
      git(scene, ['rebase', '-q', '-i', '--autosquash', '--exec', 'true', 'theirs'], mayFail);
    },
    check: (scene) => {
      write(scene, 'a.txt', 'resolved\n');
      git(scene, ['add', 'a.txt']);
      git(scene, ['rebase', '--continue']);
    },
  },
  {
    name: 'more_notes_and_replace_refs',
    build: (scene) => {
      append(scene, 'a.txt', 'one\n');
      const old = commit(scene, 'old');
      append(scene, 'a.txt', 'two\n');
      commit(scene, 'new');
      git(scene, ['notes', '--ref=review', 'add', '-m', 'looks good']);
      git(scene, ['replace', '--graft', 'HEAD', 'HEAD~2']);
      git(scene, ['replace', old, 'HEAD']);
      append(scene, 'b.txt', 'staged\n');
      git(scene, ['add', 'b.txt']);
    },
  },
  {
    name: 'more_head_to_missing_ref',
    build: (scene) => {
      git(scene, ['symbolic-ref', 'HEAD', 'refs/heads/not/there/yet']);
      append(scene, 'a.txt', 'edit\n');
    },
  },
  {
    name: 'more_broken_ref',
    build: (scene) => {
      write(scene, '.git/refs/heads/broken', 'this is no id\n');
      append(scene, 'a.txt', 'edit\n');
    },
    named: ['refs/heads/broken'],
    adjust: (seen) => {
      seen.fsck = '';
      seen.refs = [];
    },
  },
  {
    name: 'more_resolve_undo',
    build: (scene) => {
      diverge(scene);
      git(scene, ['merge', '-q', 'theirs'], mayFail);
      write(scene, 'a.txt', 'resolved too early\n');
      git(scene, ['add', 'a.txt']);
    },
    check: (scene) => {
      git(scene, ['checkout', '-q', '--merge', '--', 'a.txt']);
      if (!git(scene, ['ls-files', '-u']).includes('a.txt')) throw new Error('conflict not back');
    },
  },
  {
    name: 'more_rerere',
    build: (scene) => {
      git(scene, ['config', 'rerere.enabled', 'true']);
      diverge(scene);
      git(scene, ['merge', '-q', 'theirs'], mayFail);
    },
    check: (scene) => {
      write(scene, 'a.txt', text([5, 'resolved once']));
      git(scene, ['add', 'a.txt']);
      git(scene, ['commit', '-q', '--no-edit']);
      git(scene, ['reset', '-q', '--hard', 'HEAD^']);
      git(scene, ['merge', '-q', 'theirs'], mayFail);
      if (!git(scene, ['diff']).includes('resolved once')) throw new Error('resolution forgotten');
    },
  },
  {
    name: 'more_unborn_only_untracked',
    start: 'empty_remote',
    build: (scene) => write(scene, 'only.txt', 'untracked\n'),
  },
  {
    name: 'more_shallow_then_fetched',
    build: (scene) => {
      rmSync(scene.work, { recursive: true });
      git(scene, ['clone', '-q', '--depth=1', `file://${scene.origin}`, scene.work], {
        cwd: scene.root,
      });
      git(scene, ['checkout', '-q', '-b', BRANCH]);
      append(scene, 'a.txt', 'on a shallow base\n');
      commit(scene, 'work');
      git(scene, ['fetch', '-q', '--depth=1', 'origin', 'side:side']);
      git(scene, ['merge', '-q', '--allow-unrelated-histories', '-X', 'ours', 'side'], mayFail);
    },
  },
];
