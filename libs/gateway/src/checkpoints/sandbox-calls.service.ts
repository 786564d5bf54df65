import type { Readable } from 'node:stream';
import {
  changesSchema,
  EXEC_OUTPUT_BYTES_MAX,
  HangarError,
  type Changes,
  type CheckpointDocument,
  type ExecBody,
  type ExecResult,
} from '@hangar/contracts';
import type { ExitStatus, SandboxIo } from '@hangar/sandbox-drivers';
import type { Caller } from '../auth/caller.ts';
import type { Commands } from '../commands.ts';
import type { SessionReader } from '../sessions/session.reader.ts';
import type { SessionView } from '../sessions/session.view.ts';
import { collectOutput, outputFields } from './collect-output.ts';

/** A tar of the decrypted parts of a checkpoint; null when it is not kept any more. */
export type CheckpointExport = (
  session_id: string,
  checkpoint_id: string,
) => Promise<Readable | null>;

export interface SandboxCallsParts {
  reader: SessionReader;
  commands: Commands;
  sandboxIo: Pick<SandboxIo, 'exec'>;
  checkpointExport: CheckpointExport;
}

/** Comparing a large tree takes a while; longer than this and something is wrong. */
const CHANGES_MS_MAX = 60_000;

/** States whose sandbox may be worked in; in the others it comes or goes. */
const USABLE: ReadonlySet<string> = new Set(['IDLE', 'ACTIVE', 'INTERRUPTED']);

/** What is read from a session's sandbox or checkpoints, and what is run in it. */
export class SandboxCallsService {
  readonly #parts: SandboxCallsParts;

  constructor(parts: SandboxCallsParts) {
    this.#parts = parts;
  }

  async checkpoints(caller: Caller, ref: string): Promise<{ items: CheckpointDocument[] }> {
    const { checkpoints } = await this.#parts.reader.document(caller.owner, ref);
    return { items: checkpoints };
  }

  /** Throws `not_found` when it is not one of the session, or its blobs are gone. */
  async export(caller: Caller, ref: string, id: string): Promise<Readable> {
    const { reader, checkpointExport } = this.#parts;
    const session = await reader.find(caller.owner, ref);
    const kept = await reader.checkpoint(session.id, id);
    const tar = kept ? await checkpointExport(session.id, id) : null;
    if (tar) return tar;
    throw noCheckpoint(ref, id);
  }

  /** From the sandbox when there is one, else from the newest checkpoint, or the one asked for. */
  async changes(caller: Caller, ref: string, checkpoint: string | undefined): Promise<Changes> {
    const { reader, commands } = this.#parts;
    const session = await reader.find(caller.owner, ref);
    const data = {
      session_id: session.id,
      ...(await this.#sourceOf(session, checkpoint)),
      base_branch: session.base_branch,
    };
    const answer = await commands.ask(
      'checkpoint',
      'ReadChanges',
      session.id,
      data,
      caller,
      CHANGES_MS_MAX,
    );
    const changes = changesSchema.safeParse(answer);
    if (changes.success) return changes.data;
    throw new HangarError('internal', 'ReadChanges gave what is not its contract', {
      cause: changes.error,
    });
  }

  async #sourceOf(session: SessionView, wanted: string | undefined): Promise<object> {
    const { reader } = this.#parts;
    if (wanted !== undefined) {
      if (await reader.checkpoint(session.id, wanted)) {
        return { place: null, checkpoint_id: wanted };
      }
      throw noCheckpoint(session.name, wanted);
    }
    if (session.place && USABLE.has(session.state)) {
      return { place: session.place, checkpoint_id: null };
    }
    const newest = (await reader.rows(session.id))?.checkpoints.toSorted(
      (a, b) => b.ordinal - a.ordinal,
    )[0];
    if (newest) return { place: null, checkpoint_id: newest.id };
    throw new HangarError('conflict', `Session ${session.name} has no sandbox and no checkpoint.`, {
      hint: 'Open it, and ask again when it is IDLE.',
    });
  }

  async exec(caller: Caller, ref: string, body: ExecBody): Promise<ExecResult> {
    const session = await this.#parts.reader.find(caller.owner, ref);
    const { place, state } = session;
    if (!place || !USABLE.has(state)) {
      throw new HangarError(
        'conflict',
        `Session ${session.name} is ${state}: nothing can run in it.`,
        {
          hint: 'Open it, and try again when it is IDLE.',
        },
      );
    }
    const sandbox = { id: place.sandbox_id, instance: place.instance };
    const stdin = stdinOf(body);
    const stream = await this.#parts.sandboxIo.exec(sandbox, {
      argv: body.argv,
      cwd: body.cwd ?? place.cwd,
      timeoutMs: body.timeout_seconds * 1000,
      signal: caller.gone,
      ...(stdin ? { stdin } : {}),
    });
    const [stdout, stderr, exit] = await Promise.all([
      collectOutput(stream.stdout, EXEC_OUTPUT_BYTES_MAX),
      collectOutput(stream.stderr, EXEC_OUTPUT_BYTES_MAX),
      stream.exit,
    ]);
    return {
      ...exitFields(exit, session.name),
      ...outputFields('stdout', stdout),
      ...outputFields('stderr', stderr),
    } as ExecResult;
  }
}

function stdinOf(body: ExecBody): Buffer | null {
  if (body.stdin_base64 !== undefined) return Buffer.from(body.stdin_base64, 'base64');
  return body.stdin === undefined ? null : Buffer.from(body.stdin);
}

/** A connection that was lost is no exit code: what became of the command is not known. */
function exitFields(exit: ExitStatus, name: string): object {
  switch (exit.kind) {
    case 'exited':
      return { exit_code: exit.code };
    case 'signalled':
      return { signal: exit.signal };
    case 'timed_out':
      return { timed_out: true };
    case 'not_started':
      throw new HangarError('invalid', `The command could not be started: ${exit.error}`, {
        hint: 'Look at argv and cwd; for a shell line use ["sh", "-c", "..."].',
      });
    case 'connection_lost':
      throw new HangarError('unavailable', 'The connection to the sandbox was lost in between.', {
        hint: 'The command may have had effects, and may still run. Look before you repeat it.',
      });
    case 'sandbox_gone':
      throw new HangarError('conflict', `The sandbox of ${name} went away in between.`, {
        hint: 'Open the session: it comes back from its newest checkpoint.',
      });
  }
}

const noCheckpoint = (ref: string, id: string): HangarError =>
  new HangarError('not_found', `Session ${ref} has no checkpoint ${id}.`, {
    hint: 'GET /api/sessions/{session}/checkpoints lists those that are kept.',
  });
