import { resolve } from 'node:path';
import { runCli } from './cli.ts';
import { processTerminal } from './process-terminal.ts';

/** A reader that left (`| head`) has all it wanted: that is no error, and nothing more is said. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const root = resolve(import.meta.dirname, '../../..');
process.exitCode = await runCli(process.argv.slice(2), { terminal: processTerminal(), root });
