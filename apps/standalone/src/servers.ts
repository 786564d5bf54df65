import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { required, type Config } from '@hangar/service-kit';
import { choosePort, startNats, startPostgres } from '@hangar/service-kit/embedded';
import { loadKeys, type LocalKeys } from './local-keys.ts';

interface Server {
  name: string;
  close(): Promise<void>;
}

export interface Servers {
  /** The settings with the addresses and keys of what was started here. */
  config: Config;
  adminToken: string;
  warnings: string[];
  servers: Server[];
}

const NATS_USER = 'hangar';

/** Starts what the settings do not name: Postgres and nats-server as children of this process. */
export async function startServers(config: Config): Promise<Servers> {
  await mkdir(config.state, { recursive: true });
  const keys = await loadKeys(config.state, config.token);
  const [database, bus] = await Promise.allSettled([
    ownPostgres(config, keys),
    ownNats(config, keys),
  ]);
  if (database.status === 'rejected' || bus.status === 'rejected') {
    for (const started of [database, bus])
      if (started.status === 'fulfilled') await started.value?.stop();
    throw database.status === 'rejected' ? database.reason : (bus as PromiseRejectedResult).reason;
  }
  const [postgres, nats] = [database.value, bus.value];
  const ioPort = await choosePort(0, join(config.state, 'io-port'));
  return {
    adminToken: keys.adminToken,
    warnings: nats?.warning ? [nats.warning] : [],
    servers: [
      ...(postgres ? [{ name: 'postgres', close: () => postgres.stop() }] : []),
      ...(nats ? [{ name: 'nats-server', close: () => nats.stop() }] : []),
    ],
    config: {
      ...config,
      token: keys.adminToken,
      databaseUrl: postgres?.url ?? required(config, 'databaseUrl', 'hangar'),
      natsUrl: nats ? [nats.url] : required(config, 'natsUrl', 'hangar'),
      natsUser: nats ? nats.user : config.natsUser,
      natsPassword: nats ? nats.password : config.natsPassword,
      sandboxIoUrl: config.sandboxIoUrl ?? `http://127.0.0.1:${ioPort}`,
      serviceToken: config.serviceToken ?? keys.serviceToken,
      vaultKeys: config.vaultKeys ?? [Buffer.from(keys.vaultKey, 'base64')],
    },
  };
}

async function ownPostgres(
  config: Config,
  keys: LocalKeys,
): Promise<Awaited<ReturnType<typeof startPostgres>> | null> {
  if (config.databaseUrl !== null) return null;
  return startPostgres({
    directory: join(config.state, 'postgres'),
    port: 0,
    password: keys.postgresPassword,
  });
}

async function ownNats(
  config: Config,
  keys: LocalKeys,
): Promise<Awaited<ReturnType<typeof startNats>> | null> {
  if (config.natsUrl !== null) return null;
  return startNats({
    directory: join(config.state, 'nats'),
    port: 0,
    user: NATS_USER,
    password: keys.natsPassword,
  });
}
