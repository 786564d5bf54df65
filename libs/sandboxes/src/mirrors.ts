import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HangarError, type Recipe } from '@hangar/contracts';
import type { SandboxDriver } from '@hangar/sandbox-drivers';
import { localRemote, withoutUserinfo } from './checkout.ts';
import type { Credentials } from './credentials.ts';
import { runCommand } from './run-command.ts';

/**
 * A copy of each remote on this machine, so that a session's clone asks the remote only for what is
 * new. One per owner and remote: what one owner may read says nothing about another. It is written
 * by git in a sandbox of its own, where no agent ever runs, and mounted read-only everywhere else.
 * Objects are never taken out of it: clones borrow them for as long as their sandbox lives.
 */
export interface Mirrors {
  /** Directory on this machine, made when there is none yet; null where a copy is of no use. */
  open(owner: string, repo: string): Promise<string | null>;
  /** Brings it up to date in the background, unless that was done a moment ago. */
  feed(owner: string, repo: string, recipe: Recipe): void;
  /** Whether a sandbox is one that feeds at this moment: no session owns it, and it is no orphan. */
  isFeeding(sandboxId: string): boolean;
  /** Stops what runs and waits for it. */
  close(): Promise<void>;
}

export interface MirrorsOptions {
  /** Made when missing; entered by hangar only. null: there are no mirrors. */
  directory: string | null;
  driver: SandboxDriver;
  credentials: Pick<Credentials, 'serve' | 'forget'>;
  now(): Date;
  onError(error: unknown): void;
}

/** Remotes of all owners; a clone of one more is whole, as without mirrors. */
const MIRRORS_MAX = 64;
/** Fed again after this, with the next sandbox that uses it. */
const FRESH_MINUTES = 10;
const FEED_MINUTES_MAX = 30;
/** The largest pack that is taken; a larger repository has no mirror. */
const PACK_GIBIBYTES_MAX = 10;
/** Above it they become one, with everything that is in them. */
const PACKS_MAX = 20;
export const MIRROR = '/hangar/mirror.git';
const INSIDE = '/hangar/feed';
const BLOCKS_OF_A_GIBIBYTE = 2 * 1024 * 1024;

/** Arguments: url, directory. Everybody may write: the next feed is another sandbox's user. */
const FEED_SCRIPT = `
set -eu
url=$1 mirror=$2
umask 0
ulimit -f ${PACK_GIBIBYTES_MAX * BLOCKS_OF_A_GIBIBYTE}
export GIT_TERMINAL_PROMPT=0
cd "$mirror"
git init -q --bare --shared=0666 .
git -c core.hooksPath=/dev/null -c gc.auto=0 -c maintenance.auto=false -c fetch.unpackLimit=1 \\
  fetch -q --force --no-write-fetch-head -- "$url" '+refs/heads/*:refs/heads/*' '+refs/tags/*:refs/tags/*'
[ "$(ls objects/pack | grep -c '[.]pack$')" -le ${PACKS_MAX} ] ||
  git -c core.hooksPath=/dev/null repack -q -a -d -k
: >fed
`;

export function createMirrors(options: MirrorsOptions): Mirrors {
  const mirrors = new FedMirrors(options);
  return {
    open: (owner, repo) => mirrors.open(owner, repo),
    feed: (owner, repo, recipe) => mirrors.feed(owner, repo, recipe),
    isFeeding: (id) => id === mirrors.feeding,
    close: () => mirrors.close(),
  };
}

/** A path is copied faster than it is asked what is new. */
const isUseful = (repo: string): boolean => !repo.startsWith('/');

class FedMirrors {
  feeding: string | null = null;
  readonly #options: MirrorsOptions;
  readonly #ending = new AbortController();
  readonly #waiting = new Set<string>();
  /** One after the other: the machine belongs to the turns. */
  #work: Promise<void> = Promise.resolve();

  constructor(options: MirrorsOptions) {
    this.#options = options;
  }

  async open(owner: string, repo: string): Promise<string | null> {
    const { directory } = this.#options;
    if (directory === null || !isUseful(repo)) return null;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const names = await readdir(directory);
    const name = nameOf(owner, repo);
    if (!names.includes(name) && names.length >= MIRRORS_MAX) return null;
    const path = join(directory, name);
    await mkdir(path, { recursive: true });
    // Above it is a directory that only hangar enters; sandboxes reach it by their mount.
    await chmod(path, 0o777);
    return path;
  }

  feed(owner: string, repo: string, recipe: Recipe): void {
    const name = nameOf(owner, repo);
    if (!isUseful(repo) || this.#waiting.has(name) || this.#ending.signal.aborted) return;
    this.#waiting.add(name);
    this.#work = this.#work
      .then(() => this.#feed(owner, repo, recipe))
      .catch((error: unknown) => {
        if (!this.#ending.signal.aborted) this.#options.onError(error);
      })
      .finally(() => this.#waiting.delete(name));
  }

  async close(): Promise<void> {
    this.#ending.abort(new HangarError('unavailable', 'hangar is stopping'));
    await this.#work;
  }

  async #feed(owner: string, repo: string, recipe: Recipe): Promise<void> {
    const { driver, credentials, now } = this.#options;
    const { signal } = this.#ending;
    signal.throwIfAborted();
    const path = await this.open(owner, repo);
    if (path === null) return;
    const fed = await stat(join(path, 'fed')).catch(() => null);
    if (fed && now().getTime() - fed.mtimeMs < FRESH_MINUTES * 60_000) return;
    const remote = localRemote(repo);
    const id = `feed-${nameOf(owner, repo)}`;
    this.feeding = id;
    try {
      const ref = await driver.create(
        {
          id,
          sessionId: id,
          cwd: '/workspace',
          // Certificates and proxies of a private network are the recipe's, too.
          envVars: recipe.env,
          network: recipe.network,
          mounts: [
            { source: path, target: INSIDE, readOnly: false },
            ...(remote ? [{ source: remote, target: remote, readOnly: true }] : []),
            ...recipe.mounts.map(({ source, target }) => ({ source, target, readOnly: true })),
          ],
          resources: {},
          gitCredentials: recipe.git.length > 0,
        },
        signal,
      );
      const asker = { owner, environment: recipe.name, session: null };
      credentials.serve(ref, async () => ({ asker, recipe }));
      const status = await driver.get(id);
      const inside = (status?.phase === 'ready' && status.paths.mounts[INSIDE]) || INSIDE;
      const argv = ['nice', 'sh', '-c', FEED_SCRIPT, 'feed', repo, inside];
      const timeoutMs = FEED_MINUTES_MAX * 60_000;
      const done = await runCommand(driver, ref, { argv, timeoutMs, signal });
      signal.throwIfAborted();
      if (done.kind !== 'exited' || done.code !== 0)
        throw new HangarError(
          'unavailable',
          `a mirror could not be fed: ${withoutUserinfo(done.output)}`,
        );
    } finally {
      await driver.destroy(id);
      await credentials.forget(id);
      this.feeding = null;
    }
  }
}

const nameOf = (owner: string, repo: string): string =>
  createHash('sha256').update(`${owner}\0${repo}`).digest('hex').slice(0, 32);
