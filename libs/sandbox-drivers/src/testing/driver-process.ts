import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

type Line = Record<string, unknown>;

/** Starts `driver-program.ts` in a process group of its own, as another user when asked. */
export const startDriverProcess = (
  program: Line,
  options: { uid?: number; cwd?: string } = {},
): { child: ChildProcess; lines: AsyncIterator<Line>; errors: () => string } => {
  const entry = fileURLToPath(new URL('./driver-program.ts', import.meta.url));
  const node = [
    process.execPath,
    '--conditions=@hangar/source',
    '--disable-warning=ExperimentalWarning',
  ];
  const command = [...node, entry, JSON.stringify(program)];
  if (options.uid !== undefined) {
    const uid = String(options.uid);
    command.unshift('setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', '--inh-caps=-all');
  }
  const child = spawn(command[0]!, command.slice(1), {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4000);
  });
  const lines = (async function* () {
    for await (const line of createInterface({ input: child.stdout })) {
      yield JSON.parse(line) as Line;
    }
  })();
  return { child, lines, errors: () => errors };
};
