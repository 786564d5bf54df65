import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib';
import type { CheckpointMeta, PartName, ToolErrorCode } from '../contract.ts';
import type { GitState } from '../git-state.ts';
import { readMeta } from './case.ts';
import { git, type Scene } from './scene.ts';
import { tarOf, tgzOf, type TarItem } from './tar-builder.ts';

/** The group "archive": a good checkpoint, one part of which an attacker replaced. */
export interface ArchiveCase {
  name: string;
  tamper: (scene: Scene) => void;
  /** The error of the restore; none when the tampered content is simply never used. */
  code?: ToolErrorCode;
  message?: RegExp;
}

function writeMeta(scene: Scene, change: (meta: CheckpointMeta) => void): void {
  const meta = readMeta(scene);
  change(meta);
  writeFileSync(join(scene.parts, 'meta.json'), JSON.stringify(meta));
}

/** Replaces a part and makes its recorded hash fit: the hash is not what must catch it. */
export function replacePart(scene: Scene, name: PartName, content: Buffer): void {
  writeFileSync(join(scene.parts, name), content);
  writeMeta(scene, (meta) => {
    const sha256 = createHash('sha256').update(content).digest('hex');
    const part = { name, size: content.length, sha256, codec: 'gzip' as const };
    meta.parts = [...meta.parts.filter((one) => one.name !== name), part];
  });
}

const untracked = (items: readonly TarItem[]) => (scene: Scene) =>
  replacePart(scene, 'untracked.tgz', tgzOf(items));

const victimOf = (scene: Scene): string => {
  const path = join(scene.root, 'victim');
  mkdirSync(path, { recursive: true });
  return path;
};

export function readState(scene: Scene): GitState {
  const stored = readFileSync(join(scene.parts, 'gitstate'));
  const plain = stored.readUInt16BE(0) === 0x1f8b ? gunzipSync(stored) : zstdDecompressSync(stored);
  return JSON.parse(plain.toString('utf8')) as GitState;
}

export function changeState(scene: Scene, change: (state: GitState) => void): void {
  const state = readState(scene);
  change(state);
  replacePart(scene, 'gitstate', gzipSync(JSON.stringify(state)));
}

/** A commit whose tree holds what git itself would never write. */
export function evilCommit(scene: Scene, cwd: string, name: string, mode = '100644'): string {
  const blob = git(scene, ['hash-object', '-w', '--stdin'], { cwd, input: 'evil\n' });
  const inner = Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(blob, 'hex')]);
  const write = ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'];
  const tree = git(scene, write, { cwd, input: inner });
  return git(scene, ['commit-tree', tree, '-m', 'evil'], { cwd });
}

function evilBundle(scene: Scene): void {
  const cwd = join(scene.root, 'evil');
  git(scene, ['init', '-q', cwd], { cwd: scene.root });
  const commit = evilCommit(scene, cwd, '.git');
  const tree = git(scene, ['rev-parse', `${commit}^{tree}`], { cwd });
  git(scene, ['update-ref', 'refs/hangar/worktree', commit], { cwd });
  git(scene, ['update-ref', 'refs/hangar/checkpoint', commit], { cwd });
  const file = join(scene.root, 'evil.bundle');
  git(scene, ['bundle', 'create', '-q', file, 'refs/hangar/worktree', 'refs/hangar/checkpoint'], {
    cwd,
  });
  replacePart(scene, 'repo.bundle', readFileSync(file));
  changeState(scene, (state) => {
    state.trees = { worktree: tree, index: tree };
    state.head = { ref: 'refs/heads/main', id: commit };
    state.refs = [];
  });
  writeMeta(scene, (meta) => {
    meta.worktree_tree = tree;
    meta.index_tree = tree;
    meta.head = commit;
    meta.prerequisites = [];
  });
}

export const archiveCases: ArchiveCase[] = [
  {
    name: 'archive_dotdot',
    tamper: untracked([{ name: 'fine' }, { name: '../victim/evil' }]),
    code: 'refused',
    message: /"\.\."/,
  },
  {
    name: 'archive_absolute',
    tamper: (scene) => untracked([{ name: join(victimOf(scene), 'evil').slice(0, 99) }])(scene),
    code: 'refused',
    message: /absolute/,
  },
  {
    name: 'archive_symlink_through',
    tamper: (scene) =>
      untracked([{ name: 'x', type: '2', link: victimOf(scene) }, { name: 'x/evil' }])(scene),
    code: 'refused',
    message: /link/,
  },
  {
    name: 'archive_hardlink_outside',
    tamper: untracked([{ name: 'passwd', type: '1', link: '/etc/passwd' }]),
    code: 'refused',
    message: /hard link/,
  },
  {
    name: 'archive_git_dir',
    tamper: untracked([
      { name: '.git/config', content: '[core]\n\tfsmonitor = evil\n' },
      { name: '.git/hooks/post-checkout', content: '#!/bin/sh\n', mode: 0o755 },
    ]),
    code: 'refused',
    message: /\.git/,
  },
  {
    name: 'archive_device',
    tamper: untracked([{ name: 'null', type: '3' }]),
    code: 'refused',
    message: /type "3"/,
  },
  {
    name: 'archive_agent_escape',
    tamper: (scene) =>
      replacePart(
        scene,
        'agent.tgz',
        tgzOf([
          { name: '.claude/projects/demo/talk.jsonl' },
          { name: '.bashrc', content: 'evil' },
          { name: '.ssh/authorized_keys', content: 'evil' },
        ]),
      ),
    code: 'refused',
    message: /outside the allowed/,
  },
  {
    name: 'archive_bomb',
    tamper: untracked([{ name: 'zeros', content: Buffer.alloc(40 * 1024 * 1024) }]),
    code: 'refused',
    message: /cap/,
  },
  {
    name: 'archive_truncated',
    tamper: (scene) => {
      const whole = tgzOf([{ name: 'file', content: 'x'.repeat(5000) }]);
      replacePart(scene, 'untracked.tgz', whole.subarray(0, whole.length - 20));
    },
    code: 'corrupt',
  },
  { name: 'archive_bundle_evil', tamper: evilBundle, code: 'refused' },
  {
    name: 'archive_bundle_refs',
    tamper: (scene) => {
      const whole = readFileSync(join(scene.parts, 'repo.bundle'), 'latin1');
      const id = /^([0-9a-f]{40}) /m.exec(whole)![1]!;
      const at = whole.indexOf('\n\n');
      const evil = `${whole.slice(0, at)}\n${id} refs/heads/main${whole.slice(at)}`;
      replacePart(scene, 'repo.bundle', Buffer.from(evil, 'latin1'));
    },
    code: 'refused',
    message: /ref that may not be there/,
  },
  {
    name: 'archive_patch_escape',
    tamper: (scene) => {
      const patch = [
        'diff --git a/../victim/evil b/../victim/evil',
        'new file mode 100644',
        '--- /dev/null',
        '+++ b/../victim/evil',
        '@@ -0,0 +1 @@',
        '+evil',
        '',
      ].join('\n');
      replacePart(scene, 'wip.patch', Buffer.from(patch));
    },
  },
  {
    name: 'archive_meta_evil',
    tamper: (scene) =>
      writeMeta(scene, (meta) => {
        meta.head = '--upload-pack=touch canary';
      }),
    code: 'refused',
    message: /object id/,
  },
];

/** Beyond the list of the facts. */
export const moreArchiveCases: ArchiveCase[] = [
  {
    name: 'more_archive_wrong_hash',
    tamper: (scene) => writeFileSync(join(scene.parts, 'untracked.tgz'), tgzOf([{ name: 'x' }])),
    code: 'corrupt',
    message: /hash/,
  },
  {
    name: 'more_archive_bad_head_ref',
    tamper: (scene) =>
      writeMeta(scene, (meta) => {
        meta.head_ref = 'refs/heads/../../config';
      }),
    code: 'refused',
  },
  {
    name: 'more_archive_nested_writes_config',
    tamper: (scene) => replacePart(scene, 'nested', tgzOf([{ name: '.git/config' }])),
    code: 'refused',
  },
  {
    name: 'more_archive_nested_replaces_git',
    tamper: (scene) =>
      replacePart(scene, 'nested', tgzOf([{ name: '.git', type: '2', link: '/tmp' }])),
    code: 'refused',
  },
  {
    name: 'more_archive_state_file_escape',
    tamper: (scene) =>
      changeState(scene, (state) => {
        state.files.push({ path: 'hooks/../config', mode: 0o644, content: 'evil' });
      }),
    code: 'refused',
  },
  {
    name: 'more_archive_state_config_file',
    tamper: (scene) =>
      changeState(scene, (state) => {
        state.nested_config = [{ path: '.git/config', entries: [] }];
      }),
    code: 'refused',
  },
  {
    name: 'more_archive_state_path_escape',
    tamper: (scene) =>
      changeState(scene, (state) => {
        state.modes.push(['../victim', 0o777]);
      }),
    code: 'refused',
  },
  {
    name: 'more_archive_state_settings',
    tamper: (scene) =>
      changeState(scene, (state) => {
        // Settings that capture leaves out are left out at restore as well.
        state.config.push({ key: 'core.fsmonitor', value: `echo >> ${scene.canary}` });
        state.config.push({ key: 'core.sshcommand', value: `echo >> ${scene.canary}` });
        state.config.push({ key: 'include.path', value: '/etc/passwd' });
        state.config.push({ key: 'bad key\n[core]', value: 'x' });
      }),
  },
  {
    name: 'more_archive_plain_tar_not_gzip',
    tamper: (scene) => replacePart(scene, 'untracked.tgz', tarOf([{ name: 'plain.txt' }])),
  },
];

export const listVictim = (scene: Scene): string[] => {
  const path = join(scene.root, 'victim');
  return existsSync(path) ? readdirSync(path) : [];
};
