import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { DynamicModule } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from './config.ts';
import { redactShapes } from './redact.ts';
import { currentTrace } from './telemetry.ts';

export interface LoggerOptions {
  /** In one process with several services the last one logs for all of them, so use one name. */
  service: string;
  level: Config['logLevel'];
  /** Applied to each whole line; the shapes of tokens by default. */
  redact?: (text: string) => string;
  /** Standard output by default: JSON in a pipe, one readable line on a terminal. */
  destination?: DestinationStream;
}

/** What Nest says of itself while it starts: one line for each module and route. */
const NEST_STARTUP = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);
const INFO_LEVEL = 30;
const SENSITIVE_FIELDS = ['authorization', 'cookie', 'password', 'secret', 'token'];
const REQUEST_ID = /^[A-Za-z0-9_-]{8,64}$/;

export function createLogger(options: LoggerOptions): Logger {
  const { service, level, redact = redactShapes } = options;
  const destination = options.destination ?? standardOutput();
  return pino(
    {
      name: process.env['OTEL_SERVICE_NAME'] ?? service,
      level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => {
        const active = currentTrace();
        return active ? { trace_id: active.traceId, span_id: active.spanId } : {};
      },
      redact: SENSITIVE_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
      hooks: {
        streamWrite: redact,
        logMethod(parameters, method, lineLevel) {
          if (lineLevel === INFO_LEVEL && isNestStartup(parameters[0])) {
            this.debug(...parameters);
          } else {
            method.apply(this, parameters);
          }
        },
      },
    },
    destination,
  );
}

/** Nest's own logger and a line for each request, except for those of /health. */
export function loggerModule(logger: Logger): DynamicModule {
  return LoggerModule.forRoot({
    pinoHttp: {
      logger,
      genReqId: requestId,
      serializers: { req: describeRequest, res: describeResponse },
      autoLogging: { ignore: (request) => request.url?.startsWith('/health') ?? false },
      customLogLevel: (request, response) => {
        if (response.statusCode >= 500) return 'error';
        // Whoever looks, looks often; what is done is the news of a normal day.
        return request.method === 'GET' && response.statusCode < 400 ? 'debug' : 'info';
      },
    },
  });
}

/** The trace where there is one, else what the client or the proxy calls this request. */
function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  const usable = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  return currentTrace()?.traceId ?? usable;
}

/** The query is left out: it may hold a token. */
function describeRequest(request: { id: string; method: string; url: string }): object {
  return { id: request.id, method: request.method, path: request.url.split('?', 1)[0] };
}

function describeResponse(response: { statusCode: number }): object {
  return { status: response.statusCode };
}

function isNestStartup(parameter: unknown): boolean {
  const context =
    typeof parameter === 'object' && parameter && 'context' in parameter && parameter.context;
  return typeof context === 'string' && NEST_STARTUP.has(context);
}

function standardOutput(): DestinationStream {
  if (!process.stdout.isTTY) return pino.destination({ fd: 1, sync: true });
  return pretty({
    singleLine: true,
    sync: true,
    ignore: 'pid,name',
    translateTime: 'SYS:HH:MM:ss.l',
  });
}
