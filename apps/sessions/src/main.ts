import 'reflect-metadata';
import { closeOnSignal, createLogger, readConfig } from '@hangar/service-kit';
import { startSessions } from './start.ts';

const config = readConfig(process.env);
const logger = createLogger({ service: 'sessions', level: config.logLevel });
const service = await startSessions(config, {
  port: config.port,
  onError: (error) => logger.warn({ err: error }, 'will be tried again'),
});
closeOnSignal([service]);
