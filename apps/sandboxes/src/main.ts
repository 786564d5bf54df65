import 'reflect-metadata';
import { hostname } from 'node:os';
import { closeOnSignal, createLogger, readConfig } from '@hangar/service-kit';
import { startSandboxes } from './start.ts';

const config = readConfig(process.env);
const logger = createLogger({ service: 'sandboxes', level: config.logLevel });
const service = await startSandboxes(config, {
  port: config.port,
  instance: `${hostname()}:${config.port}`,
  envVars: process.env,
  onError: (error) => logger.warn({ err: error }, 'will be tried again'),
});
closeOnSignal([service]);
