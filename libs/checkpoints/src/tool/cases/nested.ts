import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from './case.ts';
import { append, commit, elsewhere, git, link, remove, write, type Scene } from './scene.ts';

/** The group "nested": repositories inside the checkout, in all the ways git has for them. */

function makeNested(scene: Scene, path: string): string {
  const cwd = join(scene.work, path);
  mkdirSync(cwd, { recursive: true });
  git(scene, ['init', '-q'], { cwd });
  write(scene, `${path}/inner.txt`, 'inner\n');
  write(scene, `${path}/.gitignore`, 'cache/\n');
  commit(scene, 'inner first', cwd);
  write(scene, `${path}/cache/big.o`, 'ignored by the inner repository\n');
  append(scene, `${path}/inner.txt`, 'inner edit\n');
  write(scene, `${path}/inner new.txt`, 'untracked\n');
  git(scene, ['add', 'inner new.txt'], { cwd });
  return cwd;
}

/** A library repository, made a submodule of the remote's main branch at `lib`. */
function addSubmodule(scene: Scene): string {
  const library = join(scene.root, 'library.git');
  const source = join(scene.root, 'library');
  git(scene, ['init', '-q', source], { cwd: scene.root });
  const saved = scene.work;
  scene.work = source;
  write(scene, 'code.c', 'int one;\n');
  commit(scene, 'library');
  scene.work = saved;
  git(scene, ['clone', '-q', '--bare', source, library], { cwd: scene.root });
  const other = elsewhere(scene);
  git(scene, ['submodule', '--quiet', 'add', library, 'lib'], { cwd: other });
  git(scene, ['commit', '-q', '-m', 'submodule'], { cwd: other });
  git(scene, ['push', '-q', 'origin', 'main'], { cwd: other });
  git(scene, ['fetch', '-q', 'origin']);
  git(scene, ['reset', '-q', '--hard', 'origin/main']);
  return join(scene.work, 'lib');
}

const initialise = (scene: Scene): void => {
  git(scene, ['submodule', '--quiet', 'update', '--init']);
};

export const nestedCases: Case[] = [
  { name: 'nested_repo', build: (scene) => void makeNested(scene, 'vendor/thing') },
  {
    name: 'nested_repo_unborn',
    build: (scene) => {
      const cwd = join(scene.work, 'unborn');
      mkdirSync(cwd);
      git(scene, ['init', '-q'], { cwd });
      write(scene, 'unborn/file.txt', 'never committed\n');
    },
  },
  {
    name: 'nested_repo_ignored',
    build: (scene) => {
      makeNested(scene, 'node_modules/package');
      append(scene, 'a.txt', 'edit\n');
    },
    check: (scene, { restored }) => {
      // Ignored content belongs to the workspace part: here it is named.
      if (restored.continuity.ignored.state !== 'lost') throw new Error('not reported');
      if (!restored.continuity.ignored.detail?.includes('node_modules')) throw new Error('no name');
      void scene;
    },
  },
  {
    name: 'nested_repo_as_gitlink',
    build: (scene) => {
      makeNested(scene, 'sub');
      git(scene, ['add', 'sub']);
      git(scene, ['commit', '-q', '-m', 'gitlink without a module']);
      append(scene, 'sub/inner.txt', 'later\n');
    },
  },
  {
    name: 'submodule_clean',
    build: (scene) => {
      addSubmodule(scene);
      initialise(scene);
    },
  },
  {
    name: 'submodule_dirty',
    build: (scene) => {
      addSubmodule(scene);
      initialise(scene);
      append(scene, 'lib/code.c', 'int dirty;\n');
      write(scene, 'lib/new.c', 'int untracked;\n');
    },
  },
  {
    name: 'submodule_moved',
    build: (scene) => {
      const cwd = addSubmodule(scene);
      initialise(scene);
      git(scene, ['checkout', '-q', '-b', 'work'], { cwd });
      append(scene, 'lib/code.c', 'int two;\n');
      commit(scene, 'not pushed', cwd);
      git(scene, ['add', 'lib']);
    },
  },
  {
    name: 'submodule_staged_new',
    build: (scene) => {
      addSubmodule(scene);
      const library = join(scene.root, 'library.git');
      git(scene, ['submodule', '--quiet', 'add', library, 'second']);
    },
  },
  {
    name: 'submodule_not_initialised',
    build: (scene) => {
      addSubmodule(scene);
      append(scene, 'a.txt', 'edit\n');
    },
  },
  {
    name: 'submodule_removed',
    build: (scene) => {
      addSubmodule(scene);
      initialise(scene);
      git(scene, ['rm', '-q', 'lib']);
    },
  },
  {
    name: 'submodule_nested_old_style',
    build: (scene) => {
      // The git directory is inside the submodule, as git made it before 1.7.8.
      const cwd = addSubmodule(scene);
      const library = join(scene.root, 'library.git');
      rmSync(cwd, { recursive: true, force: true });
      git(scene, ['clone', '-q', library, cwd]);
      git(scene, ['submodule', '--quiet', 'init']);
      append(scene, 'lib/code.c', 'int local;\n');
      commit(scene, 'not pushed', cwd);
    },
  },
];

/** Beyond the list of the facts. */
export const moreNestedCases: Case[] = [
  {
    name: 'more_submodule_inside_nested',
    build: (scene) => {
      addSubmodule(scene);
      const cwd = makeNested(scene, 'outer');
      const library = join(scene.root, 'library.git');
      git(scene, ['submodule', '--quiet', 'add', library, 'deep/lib'], { cwd });
      append(scene, 'outer/deep/lib/code.c', 'int deep;\n');
      makeNested(scene, 'outer/plain');
    },
  },
  {
    name: 'more_nested_symlink_loop',
    build: (scene) => {
      makeNested(scene, 'loops');
      link(scene, '.', 'loops/self');
      link(scene, '..', 'up');
      link(scene, 'ring-b', 'ring-a');
      link(scene, 'ring-a', 'ring-b');
    },
  },
  {
    name: 'more_nested_credentials',
    build: (scene) => {
      const cwd = makeNested(scene, 'private');
      git(scene, ['remote', 'add', 'origin', 'https://user:hunter2@example.com/x.git'], { cwd });
      git(scene, ['config', 'http.extraHeader', 'Authorization: Bearer hunter2'], { cwd });
    },
    adjust: (seen) => {
      for (const inner of Object.values(seen.nested)) {
        inner.config = inner.config.filter((line) => !/hunter2/.test(line));
      }
    },
  },
  {
    name: 'more_nested_linked_worktree_conflict',
    build: (scene) => {
      git(scene, ['worktree', 'add', '-q', '--detach', 'tree'], { cwd: scene.work });
      const cwd = join(scene.work, 'tree');
      write(scene, 'tree/staged only.txt', 'exists in that index alone\n');
      git(scene, ['add', '-A'], { cwd });
      remove(scene, 'tree/staged only.txt');
      write(scene, 'tree/a.txt', 'detached commit\n');
      git(scene, ['commit', '-q', '-m', 'on no branch', 'a.txt'], { cwd });
    },
  },
];
