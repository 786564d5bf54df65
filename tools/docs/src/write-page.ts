import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './checkout.ts';

/** As it stands in the repository: tables are aligned by the formatter, not by the generators. */
export async function formatted(markdown: string): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), 'hangar-page-'));
  try {
    const file = join(scratch, 'page.md');
    await writeFile(file, markdown);
    await promisify(execFile)(join(ROOT, 'node_modules/.bin/oxfmt'), [file], { cwd: scratch });
    return await readFile(file, 'utf8');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Writes a generated page, or with `--check` compares it and sets the exit code. */
export async function writePage(path: string, markdown: string): Promise<void> {
  const page = await formatted(markdown);
  const file = join(ROOT, path);
  if (!process.argv.includes('--check')) {
    await writeFile(file, page);
    return;
  }
  if ((await readFile(file, 'utf8').catch(() => '')) === page) return;
  process.stdout.write(`${path} is not what it is made from: run its generator in tools/\n`);
  process.exitCode = 1;
}
