#!/usr/bin/env node
import type { ErrorReport } from './contract.ts';
import { REQUEST_BYTES_MAX } from './requests.ts';
import { serve } from './serve.ts';
import { ToolError } from './tool-error.ts';
import { runVerb } from './verbs.ts';

/** The command line of hangar-checkpoint: request on stdin, report on stdout (contract.ts). */

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

async function runOnce(verb: string | undefined): Promise<void> {
  try {
    const body = verb === undefined ? {} : await readStdin();
    process.stdout.write(`${JSON.stringify(await runVerb(verb, body))}\n`);
  } catch (error) {
    const code = error instanceof ToolError ? error.code : 'internal';
    const message = error instanceof Error ? error.message : String(error);
    const report: ErrorReport = { error: { code, message } };
    process.stdout.write(`${JSON.stringify(report)}\n`);
    process.exitCode = 1;
  }
}

const verb = process.argv[2];
if (verb === 'serve') {
  await serve(runVerb, process.stdin, process.stdout);
  // What a failed request left under way ends with it.
  process.exit();
}
await runOnce(verb);
