/**
 * Loaded with `node --import @hangar/service-kit/register`, before any other module, so that http
 * and pg are patched as they load. Configured by the standard OTEL_* variables, and off unless one
 * of them asks for traces. There is no loader hook for ES modules: both packages are CommonJS, and
 * the hook costs 120 MB and 2 s (measured).
 */
import { createRequire } from 'node:module';
import { onFlush } from './telemetry.ts';

const endpoint =
  process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
const exporter = process.env['OTEL_TRACES_EXPORTER'] ?? (endpoint ? 'otlp' : 'none');

if (exporter !== 'none' && process.env['OTEL_SDK_DISABLED'] !== 'true') {
  const [{ NodeSDK }, { HttpInstrumentation }, { PgInstrumentation }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/instrumentation-http'),
    import('@opentelemetry/instrumentation-pg'),
  ]);
  process.env['OTEL_TRACES_EXPORTER'] = exporter;
  process.env['OTEL_METRICS_EXPORTER'] ??= 'none';
  process.env['OTEL_LOGS_EXPORTER'] ??= 'none';
  const sdk = new NodeSDK({
    serviceName: process.env['OTEL_SERVICE_NAME'] ?? 'hangar',
    instrumentations: [
      new HttpInstrumentation({
        ignoreIncomingRequestHook: (request) => request.url?.startsWith('/health') ?? false,
      }),
      new PgInstrumentation({ requireParentSpan: true }),
    ],
  });
  sdk.start();
  // Node's own modules are patched when they are required, which an ES module never does.
  const require = createRequire(import.meta.url);
  for (const name of ['node:http', 'node:https']) require(name);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= sdk.shutdown());
  onFlush(stop);
  process.once('beforeExit', () => void stop());
}
