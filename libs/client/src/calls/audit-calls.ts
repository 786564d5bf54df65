import type { EventDocument, Page, SessionDocument, VerifyDocument } from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import type { CallOptions } from './call-options.ts';

export interface AuditFilter {
  /** Id or name. */
  session?: string | undefined;
  actor?: string | undefined;
  /** Name of an event. */
  type?: string | undefined;
  /** RFC 3339. */
  since?: string | undefined;
  until?: string | undefined;
  /** Oldest first when left out. */
  order?: 'asc' | 'desc' | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface AuditCalls {
  list(filter?: AuditFilter, options?: CallOptions): Promise<Page<EventDocument>>;
  /** Everything that fits the filter, one JSON event a line. */
  export(filter?: AuditFilter, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
  verify(query?: { session?: string | undefined }, options?: CallOptions): Promise<VerifyDocument>;
  /** The session as it was after the event of that version; the newest when left out. */
  replay(
    query: { session: string; version?: number | undefined },
    options?: CallOptions,
  ): Promise<SessionDocument>;
}

export function createAuditCalls(transport: Transport): AuditCalls {
  return {
    list: (filter = {}, options = {}) =>
      transport.json({
        method: 'GET',
        path: '/api/audit',
        query: { ...filter },
        signal: options.signal,
      }),
    async export(filter = {}, options = {}) {
      const answer = await transport.send({
        method: 'GET',
        path: '/api/audit',
        query: { ...filter, format: 'jsonl' },
        accept: 'application/jsonl, application/problem+json',
        stream: true,
        signal: options.signal,
      });
      return answer.body ?? new ReadableStream({ start: (controller) => controller.close() });
    },
    verify: (query = {}, options = {}) =>
      transport.json({
        method: 'GET',
        path: '/api/audit/verify',
        query: { ...query },
        signal: options.signal,
      }),
    replay: (query, options = {}) =>
      transport.json({
        method: 'GET',
        path: '/api/audit/replay',
        query: { ...query },
        signal: options.signal,
      }),
  };
}
