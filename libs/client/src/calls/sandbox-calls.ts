import {
  EXEC_SECONDS_DEFAULT,
  type Changes,
  type CheckpointDocument,
  type ExecInput,
  type ExecResult,
  type SessionOutcome,
} from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import {
  newIdempotencyKey,
  segment,
  sessionPath,
  type CallOptions,
  type CreateOptions,
} from './call-options.ts';

export interface CheckpointCalls {
  /** Newest last. */
  list(ref: string, options?: CallOptions): Promise<{ items: CheckpointDocument[] }>;
  take(ref: string, options?: CreateOptions): Promise<SessionOutcome>;
  /** A tar of the parts, decrypted: handle it as what it is, the work and the conversation. */
  export(
    ref: string,
    checkpointId: string,
    options?: CallOptions,
  ): Promise<ReadableStream<Uint8Array>>;
}

export interface SandboxCalls {
  /** Never sent twice: what a command did the first time is not known. */
  exec(ref: string, body: ExecInput, options?: CallOptions): Promise<ExecResult>;
  /** The work against its base, of the sandbox or of the newest (or named) checkpoint. */
  changes(ref: string, query?: { checkpoint?: string }, options?: CallOptions): Promise<Changes>;
}

export function createCheckpointCalls(transport: Transport): CheckpointCalls {
  return {
    list: (ref, options = {}) =>
      transport.json({
        method: 'GET',
        path: sessionPath(ref, '/checkpoints'),
        signal: options.signal,
      }),
    take: (ref, options = {}) =>
      transport.json({
        method: 'POST',
        path: sessionPath(ref, '/checkpoints'),
        body: {},
        query: { wait: options.waitSeconds },
        waitSeconds: options.waitSeconds,
        idempotencyKey: options.idempotencyKey ?? newIdempotencyKey(),
        signal: options.signal,
      }),
    async export(ref, checkpointId, options = {}) {
      const answer = await transport.send({
        method: 'GET',
        path: sessionPath(ref, `/checkpoints/${segment(checkpointId)}/export`),
        accept: 'application/x-tar, application/problem+json',
        stream: true,
        signal: options.signal,
      });
      return answer.body ?? new ReadableStream({ start: (controller) => controller.close() });
    },
  };
}

export function createSandboxCalls(transport: Transport): SandboxCalls {
  return {
    exec: (ref, body, options = {}) =>
      transport.json({
        method: 'POST',
        path: sessionPath(ref, '/exec'),
        body,
        waitSeconds: body.timeout_seconds ?? EXEC_SECONDS_DEFAULT,
        signal: options.signal,
      }),
    changes: (ref, query = {}, options = {}) =>
      transport.json({
        method: 'GET',
        path: sessionPath(ref, '/changes'),
        query: { checkpoint: query.checkpoint },
        signal: options.signal,
      }),
  };
}
