import { spawn } from 'node:child_process';
import { HangarError } from '@hangar/contracts';
import { z } from 'zod';
import { redactShapes } from './redact.ts';

/** A program that answers from elsewhere: a token service, a keychain, a cloud's identity. */
export type CredentialCommand = (
  question: CredentialQuestion,
) => Promise<{ value: string; username?: string; expiresAt: Date | null }>;

/** What it is asked on stdin, as one JSON document. */
export interface CredentialQuestion {
  owner: string;
  environment: string;
  /** null: hangar's own copy of a remote, for all of the owner's sessions. */
  session: string | null;
  kind: 'secret' | 'git';
  /** Of the secret, as the environment names it. */
  name: string;
  host?: string;
  path?: string;
}

/** Shorter than a sandbox waits for the answer. */
export const CREDENTIAL_COMMAND_MS = 30_000;
const OUTPUT_BYTES_MAX = 64 * 1024;
/** Of its stderr, for the log of whoever runs hangar. */
const REASON_CHARACTERS_MAX = 500;

const text = z
  .string()
  .min(1)
  .max(16_384)
  .regex(/^[^\0]*$/);
const line = z
  .string()
  .min(1)
  .max(8_192)
  .regex(/^[^\0\r\n]*$/);
const answerSchema = z
  .object({
    value: text.optional(),
    username: line.optional(),
    password: line.optional(),
    expires_at: z.iso.datetime({ offset: true }).optional(),
  })
  .refine(({ value, password }) => (value === undefined) !== (password === undefined));

/**
 * Asks the program anew each time. What it prints on stderr and what is wrong with its answer goes
 * to `onError`, for it may hold what it should not; who asked hears `internal` and no more.
 */
export function credentialCommand(
  program: string,
  onError: (error: unknown) => void,
  timeoutMs = CREDENTIAL_COMMAND_MS,
): CredentialCommand {
  return async (question) => {
    try {
      const output = await run(program, JSON.stringify(question), timeoutMs);
      return parse(output);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      onError(new Error(`HANGAR_CREDENTIAL_COMMAND, asked for ${question.name}: ${reason}`));
      throw new HangarError('internal', "hangar's credential command gave no credential", {
        hint: "whoever runs hangar finds the reason in hangar's log",
      });
    }
  };
}

function parse(output: string): Awaited<ReturnType<CredentialCommand>> {
  let json: unknown;
  try {
    json = JSON.parse(output);
  } catch {
    throw new Error('its output is no JSON');
  }
  const read = answerSchema.safeParse(json);
  if (!read.success)
    throw new Error('its output is not {"value"} or {"username", "password"}, with "expires_at"');
  const { value, password, username, expires_at } = read.data;
  return {
    value: value ?? password ?? '',
    ...(username === undefined ? {} : { username }),
    expiresAt: expires_at === undefined ? null : new Date(expires_at),
  };
}

/** With a clean environment, and nothing but the question: hangar's own secrets are not for it. */
function run(program: string, input: string, timeoutMs: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' };
  // A group of its own, so that what it started ends with it.
  const child = spawn(program, [], { env, cwd: '/', detached: true });
  const end = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const fail = (reason: string): void => {
    end();
    reject(new Error(reason));
  };
  const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
  let output = Buffer.alloc(0);
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output = Buffer.concat([output, chunk]);
    if (output.byteLength > OUTPUT_BYTES_MAX) fail(`more than ${OUTPUT_BYTES_MAX} bytes`);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(0, REASON_CHARACTERS_MAX);
  });
  // One that does not read its question may still know the answer.
  child.stdin.on('error', () => undefined).end(input);
  child.once('error', (error) => fail(error.message));
  child.once('close', (code, signal) => {
    end();
    if (code === 0) return resolve(output.toString('utf8'));
    const how = signal ? `it was ended by ${signal}` : `exit code ${code}`;
    reject(new Error(said ? `${how}: ${redactShapes(said).trim()}` : how));
  });
  return promise.finally(() => clearTimeout(timer));
}
