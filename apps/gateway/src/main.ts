import 'reflect-metadata';
import { closeOnSignal, createLogger, readConfig } from '@hangar/service-kit';
import { startGatewayService } from './start.ts';

const config = readConfig(process.env);
const logger = createLogger({ service: 'gateway', level: config.logLevel });
const service = await startGatewayService(config, {
  port: config.port,
  onError: (error) => logger.warn({ err: error }, 'will be tried again'),
});
closeOnSignal([service]);
