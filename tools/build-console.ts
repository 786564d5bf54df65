import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const root = resolve(import.meta.dirname, '..');
const project = join(root, 'apps/console');
const dist = join(project, 'dist');
/** Written last, so that a build that was killed is done again. */
const stamp = join(dist, '.built');

/** What the console is made of. */
const SOURCES = ['apps/console', 'libs/client/src', 'libs/contracts/src', 'package-lock.json'];
/** Smaller files gain nothing. */
const GZIP_BYTES_MIN = 1024;

/** Builds the console unless what is there is newer than all it is made of. */
export function buildConsole(): void {
  if (isFresh()) return;
  const vite = join(root, 'node_modules/.bin/vite');
  const { status, stdout, stderr } = spawnSync(vite, ['build', '--logLevel', 'warn'], {
    cwd: project,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the console was not built:\n${stdout}${stderr}`);
  for (const file of filesOf(dist)) {
    const content = readFileSync(file);
    if (content.byteLength >= GZIP_BYTES_MIN && ['.js', '.css', '.html'].includes(extname(file)))
      writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
  }
  writeFileSync(stamp, '');
}

function isFresh(): boolean {
  if (!existsSync(stamp)) return false;
  const built = statSync(stamp).mtimeMs;
  return SOURCES.every((source) =>
    filesOf(join(root, source)).every((file) => statSync(file).mtimeMs <= built),
  );
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => name !== 'dist' || path !== project)
    .flatMap((entry) => {
      const inside = join(path, entry.name);
      return entry.isDirectory() ? filesOf(inside) : [inside];
    });
}
