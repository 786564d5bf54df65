// `npm start`: the whole of hangar on this machine, in the foreground.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { env, root, setUp } from './setup.mjs';

setUp();
const main = process.argv[2] === 'demo' ? 'demo.js' : 'main.js';
const node = join(root, 'node_modules', '.bin', 'node');
const register = join(root, 'libs', 'service-kit', 'dist', 'register.js');
const child = spawn(node, ['--import', register, join(root, 'apps/standalone/dist', main)], {
  cwd: root,
  env: { ...env, NODE_COMPILE_CACHE: join(root, 'tmp', 'compile-cache') },
  stdio: 'inherit',
});
// A terminal sends Ctrl-C to the child as well; other senders know only this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  });
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
