/** A bridge: a program of hangar's own around a harness, inside the sandbox and below HOME. */
import type { HarnessCommand } from '../harness-adapter.ts';
import { shippedFile } from '../shipped-file.ts';

/** `<directory>/turn.mjs` of the harness, with what it needs beside it. */
export function bridgeFiles(directory: string, harness: string): HarnessCommand['files'] {
  return [
    ['turn.mjs', `${harness}/turn.mjs`],
    ['processes.mjs', 'bridge/processes.mjs'],
  ].map(([name, source]) => ({
    path: `${directory}/${name}`,
    content: shippedFile(source ?? ''),
    mode: 0o644,
  }));
}
