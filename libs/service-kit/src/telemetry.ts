import {
  context,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanOptions,
} from '@opentelemetry/api';

export const tracer = trace.getTracer('hangar');

/** The trace that is being recorded here, if one is. */
export function currentTrace(): { traceId: string; spanId: string } | null {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { traceId: span.traceId, spanId: span.spanId } : null;
}

/** Runs `work` in a span that ends with it and carries its failure. */
export async function withSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
  parent: Context = context.active(),
): Promise<T> {
  return tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      span.recordException(error instanceof Error ? error : message);
      span.setStatus({ code: SpanStatusCode.ERROR, message });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Shared by key, for `register` is loaded apart from the program and may be another copy. */
const FLUSH = Symbol.for('hangar.telemetry.flush');
interface FlushHolder {
  [FLUSH]?: () => Promise<void>;
}
const holder = globalThis as typeof globalThis & FlushHolder;

export function onFlush(flush: () => Promise<void>): void {
  holder[FLUSH] = flush;
}

/** Sends the spans that are still held; nothing where tracing is off. */
export async function flushTelemetry(): Promise<void> {
  await holder[FLUSH]?.();
}
