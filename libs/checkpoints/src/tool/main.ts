#!/usr/bin/env node
import { capture } from './capture.ts';
import { changes, fingerprint } from './changes-live.ts';
import type { ErrorReport } from './contract.ts';
import { readRequest } from './requests.ts';
import { restore } from './restore.ts';
import { ToolError } from './tool-error.ts';

/** The command line of hangar-checkpoint: request on stdin, report on stdout (contract.ts). */

/** A request is a few KB; meta.json inside a restore request may list many parts and paths. */
const REQUEST_BYTES_MAX = 64 * 1024 * 1024;

async function readStdin(): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const buffer = chunk as Buffer;
    bytes += buffer.length;
    if (bytes > REQUEST_BYTES_MAX) throw new ToolError('invalid', 'the request is too large');
    chunks.push(buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch (error) {
    throw new ToolError('invalid', 'the request is not JSON', error);
  }
}

/** From inside, every path is shorter, and the kernel has less to look up for each file. */
function inside<T extends { work: string }>(request: T): T {
  try {
    process.chdir(request.work);
  } catch {
    // What is the matter with it shows when it is read.
  }
  return request;
}

async function run(command: string | undefined): Promise<unknown> {
  const body = command === undefined ? {} : await readStdin();
  switch (command) {
    case 'capture':
      return capture(inside(readRequest('capture', body)));
    case 'restore':
      return restore(readRequest('restore', body));
    case 'fingerprint':
      return fingerprint(inside(readRequest('fingerprint', body)));
    case 'changes':
      return changes(inside(readRequest('changes', body)));
    default:
      throw new ToolError(
        'invalid',
        'usage: hangar-checkpoint capture|restore|fingerprint|changes',
      );
  }
}

try {
  process.stdout.write(`${JSON.stringify(await run(process.argv[2]))}\n`);
} catch (error) {
  const code = error instanceof ToolError ? error.code : 'internal';
  const message = error instanceof Error ? error.message : String(error);
  const report: ErrorReport = { error: { code, message } };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  process.exitCode = 1;
}
