import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { BODY_BYTES_MAX, HangarError } from '@hangar/contracts';
import { Logger } from 'nestjs-pino';
import type { DestinationStream } from 'pino';
import type { Closable } from './close-on-signal.ts';
import type { Config } from './config.ts';
import { HangarErrorFilter, validationPipe } from './error-filter.ts';
import { HealthModule, type HealthCheck } from './health.ts';
import { createLogger, loggerModule } from './logger.ts';
import { RouteSpan } from './route-span.ts';

/** How long an answer may go on once the service closes; a stream of events goes on for ever. */
export const DRAIN_MILLIS_MAX = 5_000;

export interface ServiceOptions {
  name: string;
  module: Type | DynamicModule;
  /** 0 takes a free one. Without a port nothing listens. */
  port?: number;
  /** Loopback by default; a pod listens on 0.0.0.0. */
  host?: string;
  logLevel?: Config['logLevel'];
  redact?: (text: string) => string;
  logDestination?: DestinationStream;
  checks?: readonly HealthCheck[];
  bodyBytesMax?: number;
  drainMillisMax?: number;
  /** What only this service has: OpenAPI, static files, upgrades. Runs before it listens. */
  configure?: (app: NestExpressApplication) => void | Promise<void>;
}

export interface Service extends Closable {
  app: NestExpressApplication;
  /** `http://host:port`, or null where nothing listens. */
  url: string | null;
}

/**
 * A Nest application as every service has it: logger, health, problem+json, validation by schema,
 * trace names, a bound on bodies, and a close that lets answers finish. Shutdown hooks run at
 * `close`: end streams in onModuleDestroy, give connections back in onApplicationShutdown, which
 * comes after the last answer. Throws HangarError('unavailable') where the port is taken.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { name, module, logLevel = 'info', checks = [], redact, logDestination } = options;
  const logger = createLogger({
    service: name,
    level: logLevel,
    ...(redact && { redact }),
    ...(logDestination && { destination: logDestination }),
  });
  const root: DynamicModule = {
    module: class ServiceRoot {},
    imports: [loggerModule(logger), HealthModule.register(checks), module],
  };
  const app = await NestFactory.create<NestExpressApplication>(root, {
    bufferLogs: true,
    abortOnError: false,
    rawBody: true,
    return503OnClosing: true,
    routeConflictPolicy: { duplicate: 'error', shadow: 'warn' },
  });
  app.useLogger(app.get(Logger));
  app.flushLogs();
  app.disable('x-powered-by');
  app.useBodyParser('json', { limit: options.bodyBytesMax ?? BODY_BYTES_MAX });
  app.useGlobalFilters(new HangarErrorFilter(logger));
  app.useGlobalPipes(validationPipe());
  app.useGlobalInterceptors(new RouteSpan());
  try {
    await options.configure?.(app);
    const url = await listen(app, options);
    const close = closeOnce(app, options.drainMillisMax ?? DRAIN_MILLIS_MAX);
    return { name, app, url, close };
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function listen(
  app: NestExpressApplication,
  options: ServiceOptions,
): Promise<string | null> {
  const { name, port, host = '127.0.0.1' } = options;
  if (port === undefined) {
    await app.init();
    return null;
  }
  try {
    await app.listen(port, host);
  } catch (cause) {
    const taken =
      typeof cause === 'object' && cause && 'code' in cause && cause.code === 'EADDRINUSE';
    if (!taken) throw cause;
    throw new HangarError('unavailable', `${name} cannot listen: ${host}:${port} is taken.`, {
      hint: 'Stop what uses the port, or set HANGAR_PORT to another one.',
      cause,
    });
  }
  const server: Server = app.getHttpServer();
  const { port: actual } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}

/** Closing again gives the first close, for a signal and a test may both ask for it. */
function closeOnce(app: NestExpressApplication, drainMillisMax: number): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => (closed ??= closeApp(app, drainMillisMax));
}

async function closeApp(app: NestExpressApplication, drainMillisMax: number): Promise<void> {
  const server: Server = app.getHttpServer();
  const cutAll = setTimeout(() => server.closeAllConnections(), drainMillisMax);
  try {
    await app.close();
  } finally {
    clearTimeout(cutAll);
  }
}
