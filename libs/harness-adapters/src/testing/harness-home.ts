/** A HOME and a working directory for a test's turns; a second HOME can take the conversation. */
import { cp, mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HarnessAdapter, TurnSpec } from '../harness-adapter.ts';
import { diskConversationFiles } from './disk-conversation-files.ts';

/**
 * Not the directory for temporary files: Codex refuses to keep its programs below that one. The
 * working directory keeps its path when the HOME changes, as in a sandbox.
 */
export class HarnessHome {
  readonly home: string;
  readonly cwd: string;
  readonly #root: string;

  private constructor(root: string, name: string) {
    this.#root = root;
    this.home = join(root, name);
    this.cwd = join(root, 'workspace', 'repo');
  }

  static async create(parent: string): Promise<HarnessHome> {
    await mkdir(parent, { recursive: true });
    const root = await realpath(await mkdtemp(join(parent, 'harness-')));
    const home = new HarnessHome(root, 'home-1');
    await mkdir(home.home, { recursive: true });
    await mkdir(home.cwd, { recursive: true });
    return home;
  }

  /** A fresh HOME with nothing but the conversation. */
  async moved(adapter: HarnessAdapter, name: string): Promise<HarnessHome> {
    const next = new HarnessHome(this.#root, name);
    await mkdir(next.home, { recursive: true });
    for (const directory of adapter.conversationDirectories) {
      const source = join(this.home, directory);
      const target = join(next.home, directory);
      await cp(source, target, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
    return next;
  }

  turn(fields: Pick<TurnSpec, 'prompt'> & Partial<TurnSpec>): TurnSpec {
    return {
      runId: 'run-00000001-1',
      messageId: 'msg-00000001',
      cwd: this.cwd,
      home: this.home,
      node: process.execPath,
      harnessRoot: '',
      model: null,
      conversationId: null,
      resume: false,
      envVars: {},
      keyCommands: {},
      asksLeave: false,
      answered: null,
      ...fields,
    };
  }

  /** Files below HOME that contain `text`: where a key must never be. */
  async filesWith(text: string): Promise<string[]> {
    const found: string[] = [];
    for (const path of await diskConversationFiles.list(this.home)) {
      const bytes = await readFile(path).catch(() => Buffer.alloc(0));
      if (bytes.includes(text)) found.push(path);
    }
    return found;
  }

  async remove(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }
}
