import { openBlobStore } from '@hangar/blob-stores/open';
import { CheckpointsModule } from '@hangar/checkpoints';
import { harnessAdapter, isHarnessName } from '@hangar/harness-adapters';
import { connectLog } from '@hangar/messaging';
import { createRemoteSandboxIo } from '@hangar/sandbox-drivers/remote';
import {
  logAddress,
  Vault,
  createService,
  natsCheck,
  postgresCheck,
  required,
  type Config,
  type Service,
} from '@hangar/service-kit';

export interface StartOptions {
  port?: number;
  instance: string;
  onError(error: unknown): void;
}

const MEGABYTE = 1_000_000;

export async function startCheckpoints(config: Config, options: StartOptions): Promise<Service> {
  const log = await connectLog(logAddress(config, 'checkpoints'));
  const io = createRemoteSandboxIo({
    url: required(config, 'sandboxIoUrl', 'checkpoints'),
    token: required(config, 'serviceToken', 'checkpoints'),
    quiet: true,
  });
  const service = await createService({
    name: 'checkpoints',
    logLevel: config.logLevel,
    host: config.host,
    ...(options.port === undefined ? {} : { port: options.port }),
    checks: [postgresCheck(log.pool), natsCheck(log.nats)],
    module: CheckpointsModule.register({
      log,
      io,
      blobs: await openBlobStore(config.blobStore),
      vault: new Vault(required(config, 'vaultKeys', 'checkpoints')),
      instance: options.instance,
      caps: {
        partBytesMax: config.sessionMaxPartMb * MEGABYTE,
        untrackedBytesMax: config.sessionMaxUntrackedMb * MEGABYTE,
      },
      conversationDirectories: (name) =>
        isHarnessName(name) ? harnessAdapter(name).conversationDirectories : [],
      onError: options.onError,
    }),
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
