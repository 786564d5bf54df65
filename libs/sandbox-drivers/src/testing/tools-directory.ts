import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Bundles sandboxd from source into a new directory that every uid can read, as the build does
 * into `dist/tool`; the caller removes it. The bundler runs by itself, because its native part
 * does not know the objects of a test's own realm.
 */
export const buildToolsDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'hangar-tools-'));
  await chmod(directory, 0o755);
  const packageFile = createRequire(import.meta.url).resolve('rolldown/package.json');
  const bundler = join(dirname(packageFile), 'bin', 'cli.mjs');
  const entry = fileURLToPath(new URL('../local/sandboxd/main.ts', import.meta.url));
  const output = ['--file', join(directory, 'sandboxd.mjs'), '--format', 'esm'];
  const argv = [bundler, entry, '--platform', 'node', ...output];
  await promisify(execFile)(process.execPath, argv);
  const script = new URL('../local/sandboxd/hangar-credential.sh', import.meta.url);
  await copyFile(script, join(directory, 'hangar-credential'));
  await chmod(join(directory, 'hangar-credential'), 0o755);
  return directory;
};
