import { HangarError } from '@hangar/contracts';
import { harnessAdapter, isHarnessName } from '@hangar/harness-adapters';
import { connectLog } from '@hangar/messaging';
import { RunsModule } from '@hangar/runs';
import { createRemoteSandboxIo } from '@hangar/sandbox-drivers/remote';
import {
  logAddress,
  SECRET_TABLE_SQL,
  SecretStore,
  Vault,
  createService,
  credentialCommand,
  CredentialSource,
  HANDED_CREDENTIAL_TABLE_SQL,
  HandedCredentials,
  natsCheck,
  postgresCheck,
  providerVariables,
  required,
  systemClock,
  type Config,
  type Service,
} from '@hangar/service-kit';

export interface StartOptions {
  port?: number;
  instance: string;
  onError(error: unknown): void;
  /** hangar's own environment: the provider credentials in it serve runs without secrets. */
  envVars: Readonly<Record<string, string | undefined>>;
}

export async function startRuns(config: Config, options: StartOptions): Promise<Service> {
  const log = await connectLog(logAddress(config, 'runs'));
  await log.pool.query(SECRET_TABLE_SQL);
  await log.pool.query(HANDED_CREDENTIAL_TABLE_SQL);
  const vault = new Vault(required(config, 'vaultKeys', 'runs'));
  const handed = new HandedCredentials(log.pool, vault);
  const io = createRemoteSandboxIo({
    url: required(config, 'sandboxIoUrl', 'runs'),
    token: required(config, 'serviceToken', 'runs'),
    quiet: true,
  });
  const credentials = new CredentialSource({
    store: new SecretStore(log.pool, vault, systemClock),
    command:
      config.credentialCommand === null
        ? null
        : credentialCommand(config.credentialCommand, options.onError),
    now: () => systemClock.now(),
  });
  const service = await createService({
    name: 'runs',
    logLevel: config.logLevel,
    host: config.host,
    ...(options.port === undefined ? {} : { port: options.port }),
    checks: [postgresCheck(log.pool), natsCheck(log.nats)],
    module: RunsModule.register({
      log,
      io,
      instance: options.instance,
      adapter: (name) => {
        if (!isHarnessName(name))
          throw new HangarError('invalid', `there is no harness called ${name}`);
        return harnessAdapter(name);
      },
      revealSecrets: (asker, names) => credentials.reveal(asker, names),
      handed: (sandboxId) => handed.list(sandboxId),
      hostVariables: providerVariables(options.envVars),
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
