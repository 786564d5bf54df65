/** A person talks with the agent in its own interface, and the next turn knows of it [X8]. */
import { createRequire } from 'node:module';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import type { TalkCommand, TurnSpec } from '../harness-adapter.ts';
import { settingsText } from '../settings-text.ts';
import {
  KEY,
  conversationId,
  newestUserTexts,
  type HarnessBench,
  type HarnessSetting,
} from './harness-bench.ts';
import type { HarnessHome } from './harness-home.ts';

/** Two turns and an interface that takes its time to come up. */
const TALK_MILLISECONDS_MAX = 180_000;
/** An interface that shows nothing new for this long waits for keys. */
const QUIET_MILLISECONDS = 1_500;
const WAIT_MILLISECONDS_MAX = 60_000;
const LOOK_MILLISECONDS = 50;
const AGAIN_MILLISECONDS = 5_000;
/** Of the screen, in an error. */
const SHOWN_CHARACTERS_MAX = 4_000;

interface Pty {
  onData(listener: (text: string) => void): void;
  onExit(listener: (end: { exitCode: number }) => void): void;
  write(text: string): void;
  kill(signal?: string): void;
}

/** Its command that leaves. */
const LEAVE: Record<string, string> = { 'claude-code': '/exit', fake: '/exit' };

export function describeTalk(bench: () => HarnessBench): void {
  it(
    'what is said in its own interface is part of the conversation afterwards [X8]',
    async () => {
      const { setting, home, spec, run } = bench();
      const first = await run(spec({ prompt: 'the first word is heron [[ say: hello ]]' }));
      expect(first.result.outcome).toBe('succeeded');
      const id = conversationId(first);
      const talk = await Talk.start(setting, home, spec({ prompt: '', conversationId: id }), id);
      try {
        await talk.isQuiet();
        await talk.say('the other word is pelican', async () =>
          (await newestUserTexts(bench())).some((text) => text.includes('pelican')),
        );
        await talk.isQuiet();
        await talk.say(LEAVE[setting.adapter.name] ?? '/quit', async () => talk.hasEnded);
      } finally {
        talk.kill();
      }
      const second = await run(spec({ prompt: 'go on', conversationId: id, resume: true }));
      expect(second.result.outcome).toBe('succeeded');
      expect(conversationId(second)).toBe(id);
      const texts = (await newestUserTexts(bench())).join('\n');
      for (const words of ['heron', 'pelican', 'go on']) expect(texts).toContain(words);
      expect(await home.filesWith(KEY)).toEqual([]);
    },
    TALK_MILLISECONDS_MAX,
  );
}

class Talk {
  readonly #pty: Pty;
  #screen = '';
  #printedAt = Date.now();
  #exit: number | null = null;

  private constructor(pty: Pty) {
    this.#pty = pty;
    pty.onData((text) => {
      this.#screen += text;
      this.#printedAt = Date.now();
    });
    pty.onExit(({ exitCode }) => {
      this.#exit = exitCode;
    });
  }

  static async start(
    { adapter }: HarnessSetting,
    home: HarnessHome,
    turn: TurnSpec,
    id: string,
  ): Promise<Talk> {
    if (!adapter.talk) throw new Error(`${adapter.name} cannot be talked with`);
    const command = adapter.talk({ ...turn, conversationId: id });
    await writeFiles(home, command);
    const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as {
      spawn(file: string, argv: string[], options: object): Pty;
    };
    const [program = '', ...argv] = command.argv;
    const env = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: home.home,
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      ...command.envVars,
    };
    return new Talk(spawn(program, argv, { cols: 120, rows: 40, cwd: home.cwd, env }));
  }

  get hasEnded(): boolean {
    return this.#exit !== null;
  }

  /** Typed as people do: the words, then the key that sends them, once more when it was not heard. */
  async say(words: string, isHeard: () => Promise<boolean>): Promise<void> {
    // An interface that is not ready yet takes keys, and forgets them.
    do {
      this.#screen = '';
      this.#pty.write(words);
      await this.isQuiet();
    } while (!this.#screen.includes(words.split(' ').at(-1) ?? ''));
    let pressedAt = 0;
    await this.until(`it has heard ${words}`, async () => {
      if (await isHeard()) return true;
      if (Date.now() - pressedAt < AGAIN_MILLISECONDS) return false;
      pressedAt = Date.now();
      this.#pty.write('\r');
      return false;
    });
  }

  isQuiet(): Promise<void> {
    return this.until('it waits for keys', async () => {
      return this.#screen !== '' && Date.now() - this.#printedAt >= QUIET_MILLISECONDS;
    });
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + WAIT_MILLISECONDS_MAX;
    while (!(await holds())) {
      if (Date.now() > deadline || this.hasEnded) {
        const shown = JSON.stringify(this.#screen.slice(-SHOWN_CHARACTERS_MAX));
        throw new Error(`never: ${what}; exit ${this.#exit}; ${shown}`);
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
    }
  }

  kill(): void {
    if (this.#exit === null) this.#pty.kill('SIGKILL');
  }
}

async function writeFiles(home: HarnessHome, { files, settings }: TalkCommand): Promise<void> {
  for (const { path, content, mode } of files) {
    await mkdir(dirname(join(home.home, path)), { recursive: true });
    await writeFile(join(home.home, path), content);
    await chmod(join(home.home, path), mode);
  }
  for (const { path, values } of settings) {
    const before = await readFile(join(home.home, path), 'utf8').catch(() => null);
    await mkdir(dirname(join(home.home, path)), { recursive: true });
    await writeFile(join(home.home, path), settingsText(before, values));
  }
}
