import { existsSync, mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HangarClient } from '@hangar/client';
import { eventually } from '@hangar/testing';
import { System } from '../../apps/standalone/e2e/system.ts';
import type { BenchOptions } from './bench.ts';
import { makeIgnored, makeRepository } from './generated-tree.ts';
import { openPlace, type Place } from './place.ts';

const WAIT_SECONDS = 300;
/** A mirror of 80 MB takes seconds; without one the measurement would be of something else. */
const MIRROR_MS_MAX = 120_000;
const IGNORED_MOUNT = '/ignored';

/** A large repository, its ignored files apart, and a hangar whose sandboxes are beside them. */
export interface TreeSystem {
  place: Place;
  repository: string;
  /** Holds `node_modules`; sandboxes see it at `/ignored`. */
  ignored: string;
  client: HangarClient;
  /** An IDLE session on the repository, cloned from its path or from a `file://` address. */
  openSession(name: string, remote?: 'path' | 'address'): Promise<void>;
  /** Waits for hangar's own copy of the remote, which it makes behind a session's start. */
  untilMirrored(): Promise<void>;
  /** Copies the ignored files into the session's checkout. */
  addIgnored(name: string): Promise<void>;
  shell(name: string, script: string): Promise<string>;
  dispose(): Promise<void>;
}

export async function openTreeSystem(options: BenchOptions): Promise<TreeSystem> {
  const place = openPlace();
  options.say(`generating the tree on ${place.kind}`);
  const repository = await makeRepository(place.directory, options.seed);
  const ignored = join(place.directory, 'ignored');
  mkdirSync(ignored);
  makeIgnored(ignored, options.seed);
  const system = await startBeside(place);
  const client = system.client();
  await client.environments.apply('default', {
    mounts: [{ source: ignored, target: IGNORED_MOUNT, read_only: true }],
  });
  const shell = async (name: string, script: string): Promise<string> => {
    const argv = ['bash', '-c', script];
    const done = await client.sandboxes.exec(name, { argv, timeout_seconds: WAIT_SECONDS });
    if (done.exit_code !== 0) throw new Error(`${script}: ${done.stderr}`);
    return done.stdout ?? '';
  };
  return {
    place,
    repository,
    ignored,
    client,
    shell,
    openSession: async (name, remote = 'path') => {
      const repo = remote === 'path' ? repository : `file://${repository}`;
      const session = await client.sessions.create(
        { name, environment: 'default', harness: 'fake', repo, base_branch: 'main' },
        { waitSeconds: WAIT_SECONDS },
      );
      if (session.state !== 'IDLE') throw new Error(`${session.state}: ${session.state_reason}`);
    },
    addIgnored: async (name) => void (await shell(name, `cp -a ${IGNORED_MOUNT}/node_modules .`)),
    untilMirrored: async () => {
      const directory = join(system.state, 'mirrors');
      const isFed = async (): Promise<boolean> => {
        const names = await readdir(directory).catch(() => []);
        return names.some((name) => existsSync(join(directory, name, 'fed')));
      };
      await eventually(isFed, { withinMs: MIRROR_MS_MAX, what: 'a mirror of the remote' });
    },
    dispose: async () => {
      await system.dispose();
      place.dispose();
    },
  };
}

/** Its state, and with it every sandbox, is on the file system of the reference. */
async function startBeside(place: Place): Promise<System> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = place.directory;
  try {
    return await System.start();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}
