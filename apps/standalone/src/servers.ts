import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HangarError } from '@hangar/contracts';
import { required, type Config } from '@hangar/service-kit';
import {
  choosePort,
  startNats,
  startPostgres,
  type EmbeddedNats,
  type EmbeddedPostgres,
} from '@hangar/service-kit/embedded';
import { keepUp, type KeptUp } from './kept-up.ts';
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

/** Told when one of them ended by itself; it is started again. */
export type OnProblem = (problem: HangarError) => void;

const NATS_USER = 'hangar';

/** Starts what the settings do not name: Postgres and nats-server as children of this process. */
export async function startServers(config: Config, onProblem: OnProblem): Promise<Servers> {
  await mkdir(config.state, { recursive: true });
  const keys = await loadKeys(config.state, config.token);
  // What can fail without a server to stop again comes first.
  const ioPort = await choosePort(0, join(config.state, 'io-port'));
  const [database, bus] = await Promise.allSettled([
    ownPostgres(config, keys, onProblem),
    ownNats(config, keys, onProblem),
  ]);
  if (database.status === 'rejected' || bus.status === 'rejected') {
    for (const started of [database, bus])
      if (started.status === 'fulfilled') await started.value?.stop();
    throw database.status === 'rejected' ? database.reason : (bus as PromiseRejectedResult).reason;
  }
  const [postgres, nats] = [database.value?.server, bus.value?.server];
  return {
    adminToken: keys.adminToken,
    warnings: nats?.warning ? [nats.warning] : [],
    servers: [
      ...(database.value ? [{ name: 'postgres', close: database.value.stop }] : []),
      ...(bus.value ? [{ name: 'nats-server', close: bus.value.stop }] : []),
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
  onProblem: OnProblem,
): Promise<KeptUp<EmbeddedPostgres> | null> {
  if (config.databaseUrl !== null) return null;
  const directory = join(config.state, 'postgres');
  const password = keys.postgresPassword;
  return keepUp('postgres', (port) => startPostgres({ directory, port, password }), onProblem);
}

async function ownNats(
  config: Config,
  keys: LocalKeys,
  onProblem: OnProblem,
): Promise<KeptUp<EmbeddedNats> | null> {
  if (config.natsUrl !== null) return null;
  const account = { user: NATS_USER, password: keys.natsPassword };
  const directory = join(config.state, 'nats');
  return keepUp('nats-server', (port) => startNats({ directory, port, ...account }), onProblem);
}
