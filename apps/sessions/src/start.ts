import { connectLog } from '@hangar/messaging';
import {
  logAddress,
  createService,
  natsCheck,
  postgresCheck,
  type Config,
  type Service,
} from '@hangar/service-kit';
import { SessionsModule } from '@hangar/sessions';

/** `port`: where health is answered; left out, nothing listens. */
export interface StartOptions {
  port?: number;
  onError(error: unknown): void;
}

export async function startSessions(config: Config, options: StartOptions): Promise<Service> {
  const log = await connectLog(logAddress(config, 'sessions'));
  const service = await createService({
    name: 'sessions',
    logLevel: config.logLevel,
    host: config.host,
    ...(options.port === undefined ? {} : { port: options.port }),
    checks: [postgresCheck(log.pool), natsCheck(log.nats)],
    module: SessionsModule.register({
      log,
      onError: options.onError,
      settings: {
        startDeadlineMinutes: config.startDeadlineMinutes,
        checkpointMinutes: config.sessionCheckpointMinutes,
      },
    }),
  });
  return {
    ...service,
    close: async () => {
      await service.close();
      await log.close();
    },
  };
}
