import type { Who } from '@hangar/contracts';
import type { Transport } from '../http/transport.ts';
import type { CallOptions } from './call-options.ts';

/** One part that the server needs, e.g. postgres or nats. */
export interface ReadyPart {
  name: string;
  ok: boolean;
  detail: string;
}

export interface Readiness {
  ready: boolean;
  parts: ReadyPart[];
}

/** The version of the API that this client was written for. */
export const API_VERSION = '1';

export interface ServerReport {
  /** Of its API, from the OpenAPI document. */
  apiVersion: string;
  /** The server's clock, from the Date header (whole seconds); null when it does not send one. */
  time: Date | null;
}

export interface ServerCalls {
  /** Needs no token: a way to see that it is there. */
  report(options?: CallOptions): Promise<ServerReport>;
  /** Not ready is an answer here, not an error. */
  ready(options?: CallOptions): Promise<Readiness>;
  /** The owner and scopes of the token of this client. */
  who(options?: CallOptions): Promise<Who>;
  openApi(options?: CallOptions): Promise<Record<string, unknown>>;
}

export function createServerCalls(transport: Transport): ServerCalls {
  const get = { method: 'GET', tries: 1 } as const;
  return {
    async report(options = {}) {
      const answer = await transport.send({
        ...get,
        path: '/api/openapi.json',
        signal: options.signal,
      });
      const document = (await answer.json()) as { info?: { version?: unknown } };
      const date = Date.parse(answer.headers.get('date') ?? '');
      return {
        apiVersion: String(document.info?.version ?? 'unknown'),
        time: Number.isNaN(date) ? null : new Date(date),
      };
    },
    async ready(options = {}) {
      const answer = await transport.send({
        ...get,
        path: '/health/ready',
        signal: options.signal,
        statuses: [503],
      });
      return readinessOf(answer.status, await answer.text());
    },
    who: (options = {}) =>
      transport.json({ method: 'GET', path: '/api/who', signal: options.signal }),
    openApi: (options = {}) =>
      transport.json({ method: 'GET', path: '/api/openapi.json', signal: options.signal }),
  };
}

/**
 * Reads the health document of terminus: `details` by part, each with a `status` and, when it is
 * down, what it said. A document of another form still tells ready or not by its status.
 */
export function readinessOf(status: number, text: string): Readiness {
  const ready = status === 200;
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return { ready, parts: [] }; // The status alone says enough.
  }
  const details = (document as { details?: unknown } | null)?.details;
  if (typeof details !== 'object' || details === null) return { ready, parts: [] };
  const parts = Object.entries(details).map(([name, value]) => {
    const { status: state, ...rest } = (value ?? {}) as Record<string, unknown>;
    const said = rest['message'] ?? rest['detail'];
    return { name, ok: state === 'up', detail: typeof said === 'string' ? said : String(state) };
  });
  return { ready, parts };
}
