import { fileURLToPath } from 'node:url';
import { openBlobStore } from '@hangar/blob-stores/open';
import { createCheckpointStore, exportCheckpoint } from '@hangar/checkpoints';
import { serveConsole, startGateway } from '@hangar/gateway';
import { HARNESS_NAMES, harnessAdapter, harnessPackage } from '@hangar/harness-adapters';
import { connectLog } from '@hangar/messaging';
import { createRemoteSandboxIo } from '@hangar/sandbox-drivers/remote';
import {
  logAddress,
  ACCESS_TOKEN_TABLE_SQL,
  SECRET_TABLE_SQL,
  SecretStore,
  Vault,
  required,
  systemClock,
  type Config,
  type Service,
} from '@hangar/service-kit';

/** Built by tools/build-console.ts. */
const CONSOLE = fileURLToPath(new URL('../../console/dist', import.meta.url));

export interface StartOptions {
  port: number;
  onError(error: unknown): void;
}

export async function startGatewayService(config: Config, options: StartOptions): Promise<Service> {
  const log = await connectLog(logAddress(config, 'gateway'));
  await log.pool.query(SECRET_TABLE_SQL);
  await log.pool.query(ACCESS_TOKEN_TABLE_SQL);
  const vault = new Vault(required(config, 'vaultKeys', 'gateway'));
  const io = createRemoteSandboxIo({
    url: required(config, 'sandboxIoUrl', 'gateway'),
    token: required(config, 'serviceToken', 'gateway'),
  });
  // After a rotation the older vault key is needed until this is done; it can be repeated.
  void new SecretStore(log.pool, vault, systemClock).reseal().catch(options.onError);
  const store = createCheckpointStore(await openBlobStore(config.blobStore), vault);
  const service = await startGateway({
    log,
    vault,
    port: options.port,
    host: config.host,
    logLevel: config.logLevel,
    bootstrapToken: config.token,
    sandboxIo: io,
    checkpointExport: (sessionId, checkpointId) => exportCheckpoint(store, sessionId, checkpointId),
    settings: {
      ...config,
      harnesses: HARNESS_NAMES.map((name) => ({
        name,
        version: harnessPackage(name)?.version ?? null,
        verified: harnessPackage(name)?.verified ?? true,
        capabilities: { ...harnessAdapter(name).capabilities },
      })),
    },
    configure: (app) => serveConsole(app, CONSOLE),
    onError: options.onError,
  });
  return {
    ...service,
    close: async () => {
      await service.close();
      io.close();
      await log.close();
    },
  };
}
