import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';
import type { ErrorReport, ToolErrorCode } from '../contract.ts';
import { ToolError } from '../tool-error.ts';

export const TOOL = fileURLToPath(new URL('../main.ts', import.meta.url));

/** An answer as it is on the line. */
export interface Answer {
  id: string | null;
  report?: unknown;
  error?: ErrorReport['error'];
}

/** `hangar-checkpoint serve`, and one question at a time to it. */
export class ResidentTool {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exit: Promise<number | null>;
  readonly #lines: AsyncIterator<string>;
  #asked = 0;

  constructor(flags: readonly string[] = ['--expose-gc'], env = process.env) {
    this.child = spawn(process.execPath, [...flags, TOOL, 'serve'], { env });
    this.exit = once(this.child, 'exit').then(([code]) => code as number | null);
    // One that is killed says so by its exit.
    this.child.stdin.on('error', () => undefined);
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** Null when it ended instead. */
  async say(line: string): Promise<Answer | null> {
    this.child.stdin.write(`${line}\n`);
    const { value, done } = await this.#lines.next();
    return done === true ? null : (JSON.parse(value) as Answer);
  }

  async ask(verb: string, request: unknown): Promise<Answer | null> {
    const id = String(++this.#asked);
    const answer = await this.say(JSON.stringify({ id, verb, request }));
    if (answer !== null && answer.id !== id) throw new Error(`${answer.id} for ${id}`);
    return answer;
  }

  async close(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
  }
}

let shared: ResidentTool | undefined;

afterAll(async () => {
  await shared?.close();
});

/** By the process that has done all before it in this test file. */
export async function askShared<T>(verb: string, request: unknown): Promise<T> {
  const tool = (shared ??= new ResidentTool());
  const answer = await tool.ask(verb, request);
  if (answer?.report !== undefined) return answer.report as T;
  await tool.close();
  shared = undefined;
  const { code, message } = answer?.error ?? { code: 'internal', message: 'the tool has ended' };
  throw new ToolError(code as ToolErrorCode, message);
}
