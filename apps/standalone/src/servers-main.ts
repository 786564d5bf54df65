// Postgres and nats-server alone, for services that run apart: prints their settings as JSON, one
// line, and stays until it is stopped.
import { readConfig, closeOnSignal } from '@hangar/service-kit';
import { startServers } from './servers.ts';

const { config, servers } = await startServers(
  readConfig(process.env),
  (problem) => void process.stderr.write(`${problem.message}\n`),
);
const settings = {
  HANGAR_STATE: config.state,
  HANGAR_TOKEN: config.token,
  HANGAR_DATABASE_URL: config.databaseUrl,
  HANGAR_NATS_URL: config.natsUrl?.join(','),
  HANGAR_NATS_USER: config.natsUser,
  HANGAR_NATS_PASSWORD: config.natsPassword,
  HANGAR_SANDBOX_IO_URL: config.sandboxIoUrl,
  HANGAR_SERVICE_TOKEN: config.serviceToken,
  HANGAR_VAULT_KEY: config.vaultKeys?.map((key) => key.toString('base64')).join(','),
};
process.stdout.write(`${JSON.stringify(settings)}\n`);
closeOnSignal(servers);
