/** A repository and its ignored files, the same for the same seed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '@hangar/testing';
import { run } from './processes.ts';

export const TRACKED_FILES = 27_000;
export const IGNORED_FILES = 100_000;
/** History behind the tree, so that a whole clone costs what it costs. */
const COMMITS = 300;
const FILES_PER_COMMIT = 60;
const FILES_PER_DIRECTORY = 12;
const FILES_PER_PACKAGE = 80;
const LINES_MAX = 130;
const WORDS = 4096;

interface Text {
  /** Some lines of code-like words; about 3 KB on average, and no two the same. */
  (): string;
}

function createText(random: () => number): Text {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const word = (): string =>
    Array.from({ length: 2 + Math.floor(random() * 9) }, () =>
      letters.charAt(Math.floor(random() * letters.length)),
    ).join('');
  const words = Array.from({ length: WORDS }, word);
  return () => {
    const lines = 1 + Math.floor(random() * LINES_MAX);
    let text = '';
    for (let line = 0; line < lines; line += 1) {
      const count = 2 + Math.floor(random() * 9);
      for (let at = 0; at < count; at += 1) text += `${words[Math.floor(random() * WORDS)] ?? ''} `;
      text += '\n';
    }
    return text;
  };
}

export const trackedPath = (number: number): string => {
  const directory = Math.floor(number / FILES_PER_DIRECTORY);
  return `packages/p${directory % 150}/src/d${directory}/file-${number}.ts`;
};

/** A bare repository with one branch `main`. Its path. */
export async function makeRepository(directory: string, seed: number): Promise<string> {
  const repository = join(directory, 'app.git');
  await run('git', ['init', '-q', '--bare', '-b', 'main', repository]);
  const random = seededRandom(seed);
  const text = createText(random);
  const git = spawn('git', ['-C', repository, 'fast-import', '--quiet'], {
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const exited = once(git, 'exit');
  const write = async (chunk: string): Promise<void> => {
    if (!git.stdin.write(chunk)) await once(git.stdin, 'drain');
  };
  const file = (path: string, content: string): string =>
    `M 100644 inline ${path}\ndata ${Buffer.byteLength(content)}\n${content}\n`;
  const commit = (number: number): string =>
    `commit refs/heads/main\ncommitter Ada <ada@example.org> ${1_700_000_000 + number * 60} +0000\n` +
    `data ${`change ${number}`.length}\nchange ${number}\n`;
  await write(commit(0));
  await write(file('.gitignore', 'node_modules\n*.log\n'));
  for (let number = 1; number < TRACKED_FILES; number += 1)
    await write(file(trackedPath(number), text()));
  for (let number = 1; number < COMMITS; number += 1) {
    await write(`\n${commit(number)}`);
    for (let at = 0; at < FILES_PER_COMMIT; at += 1) {
      const changed = 1 + Math.floor(random() * (TRACKED_FILES - 1));
      await write(file(trackedPath(changed), text()));
    }
  }
  git.stdin.end('\ndone\n');
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  return repository;
}

/** `node_modules` below `directory`: 100,000 small files in 1,250 packages. */
export function makeIgnored(directory: string, seed: number): void {
  const random = seededRandom(seed + 1);
  for (let number = 0; number < IGNORED_FILES; number += 1) {
    const inPackage = number % FILES_PER_PACKAGE;
    const name = `package-${Math.floor(number / FILES_PER_PACKAGE)}`;
    const place = join(directory, 'node_modules', name, `lib${Math.floor(inPackage / 20)}`);
    if (inPackage % 20 === 0) mkdirSync(place, { recursive: true });
    const size = 64 + Math.floor(random() * 400);
    writeFileSync(join(place, `module-${inPackage}.js`), 'x'.repeat(size));
  }
}

/** What a short turn does to a tree: five tracked files edited, three new ones, by `round`. */
export function smallChange(round: number): string {
  const edits = [11, 5_000, 12_345, 20_001, 26_999].map(
    (number) => `echo "// round ${round}" >>${trackedPath(number)}`,
  );
  const news = [1, 2, 3].map((number) => `echo "note ${round}" >packages/p${number}/note.txt`);
  return [...edits, ...news].join(' && ');
}
