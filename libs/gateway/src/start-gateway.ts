import type { NestExpressApplication } from '@nestjs/platform-express';
import { EXEC_BODY_BYTES_MAX } from '@hangar/contracts';
import {
  createService,
  natsCheck,
  postgresCheck,
  type Config,
  type HealthCheck,
  type Service,
} from '@hangar/service-kit';
import { GatewayModule } from './gateway.module.ts';
import { gatewayParts, type GatewayDependencies, type GatewayParts } from './gateway.parts.ts';
import { serveOpenApi } from './open-api.ts';
import { openDataSource } from './storage/data-source.ts';
import { surviveCuts } from './storage/survive-cuts.ts';
import { serveTerminals, type TerminalSockets } from './terminals/terminal-upgrade.ts';
import { createViewProjector } from './views/view-projector.ts';

export interface GatewayOptions extends GatewayDependencies {
  /** 0 takes a free one. */
  port: number;
  host?: string;
  logLevel?: Config['logLevel'];
  /** What only this deployment has, such as the console's files; before it listens. */
  configure?: (app: NestExpressApplication) => void;
}

/** At the start the read models may have much to read; it listens, but is not ready, until then. */
const FIRST_READ_MS_MAX = 10_000;

/** The REST API on `port`. `close` lets answers finish and ends the streams of events. */
export async function startGateway(options: GatewayOptions): Promise<Service> {
  const { log, port, host, logLevel, onError } = options;
  surviveCuts(log.pool);
  const source = await openDataSource(log.pool);
  const projector = createViewProjector({ pool: log.pool, wake: log.wake, onError });
  projector.start();
  const parts = gatewayParts(options, source, projector);
  const views = viewsCheck(() => projector.caughtUp());
  const closeParts = async (): Promise<void> => {
    parts.signal.close();
    await parts.webhooks.stop();
    await projector.stop();
    await source.destroy();
  };
  try {
    await Promise.race([projector.caughtUp(), pause(FIRST_READ_MS_MAX)]);
    const service = await createService({
      name: 'gateway',
      module: GatewayModule.register(parts),
      port,
      checks: [postgresCheck(log.pool), natsCheck(log.nats), views],
      bodyBytesMax: EXEC_BODY_BYTES_MAX,
      configure: (app) => configure(app, options),
      ...(host === undefined ? {} : { host }),
      ...(logLevel === undefined ? {} : { logLevel }),
    });
    parts.webhooks.start();
    const sockets = serveTerminals(service.app.getHttpServer(), {
      tokens: parts.tokenResolver,
      terminals: parts.terminals,
      ...(options.heartbeatMs && { heartbeatMs: options.heartbeatMs }),
    });
    return { ...service, close: () => closeAll(service, sockets, parts, closeParts) };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

function configure(app: NestExpressApplication, options: GatewayOptions): void {
  const yaml = ['application/yaml', 'application/x-yaml', 'text/yaml'];
  app.useBodyParser('text', { type: yaml, limit: EXEC_BODY_BYTES_MAX });
  serveOpenApi(app);
  options.configure?.(app);
}

async function closeAll(
  service: Service,
  sockets: TerminalSockets,
  parts: GatewayParts,
  closeParts: () => Promise<void>,
): Promise<void> {
  // Streams of events and terminals go on for ever: they end first, or closing would wait for them.
  parts.live.close();
  await sockets.close();
  await service.close();
  await closeParts();
}

/** Ready once everything that was committed can be read. */
const viewsCheck = (caughtUp: () => Promise<void>): HealthCheck => ({
  name: 'read_models',
  check: async (signal) => {
    await Promise.race([
      caughtUp(),
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('behind the log')), {
          once: true,
        });
      }),
    ]);
  },
});

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
