import { realpathSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HangarError } from '@hangar/contracts';
import { installHarness, isHarnessName } from '@hangar/harness-adapters';
import { connectLog } from '@hangar/messaging';
import type { SandboxDriver } from '@hangar/sandbox-drivers';
import { createLocalDriver } from '@hangar/sandbox-drivers/local';
import { DATA_HTTP2, createTokenCheck, sandboxIoRoutes } from '@hangar/sandbox-drivers/remote';
import { SandboxesModule } from '@hangar/sandboxes';
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
  providerKeys,
  required,
  systemClock,
  type Config,
  type Service,
} from '@hangar/service-kit';

export interface StartOptions {
  port?: number;
  /** Stable name of this replica. */
  instance: string;
  onError(error: unknown): void;
  /** Told what this machine lacks, and what to do about it. */
  onProblem?(text: string): void;
  /** hangar's own environment: the provider keys in it serve runs without secrets. */
  envVars: Readonly<Record<string, string | undefined>>;
}

/** hangar's single-file tools, as the build puts them at the root of the checkout. */
const TOOLS = fileURLToPath(new URL('../../../dist/tools/', import.meta.url));

function createDriver(config: Config): SandboxDriver {
  switch (config.driver) {
    case 'local':
      return createLocalDriver({
        stateDirectory: config.state,
        toolsDirectory: TOOLS,
        nodeBinary: realpathSync(process.execPath),
        isolation: config.localIsolation,
      });
    case 'fake':
      throw new HangarError('invalid', 'the fake driver is for tests of the services');
  }
}

export async function startSandboxes(config: Config, options: StartOptions): Promise<Service> {
  const log = await connectLog(logAddress(config, 'sandboxes'));
  await log.pool.query(SECRET_TABLE_SQL);
  await log.pool.query(HANDED_CREDENTIAL_TABLE_SQL);
  const vault = new Vault(required(config, 'vaultKeys', 'sandboxes'));
  const driver = createDriver(config);
  const { problems } = await driver.probe();
  for (const { text, fix } of problems) options.onProblem?.(fix ? `${text} ${fix}` : text);
  const ioUrl = new URL(required(config, 'sandboxIoUrl', 'sandboxes'));
  const serviceToken = required(config, 'serviceToken', 'sandboxes');
  const harnessDirectory = join(config.state, 'harnesses');
  await mkdir(harnessDirectory, { recursive: true });
  await chmod(harnessDirectory, 0o755);
  const service = await createService({
    name: 'sandboxes',
    logLevel: config.logLevel,
    host: config.host,
    ...(options.port === undefined ? {} : { port: options.port }),
    checks: [postgresCheck(log.pool), natsCheck(log.nats)],
    module: SandboxesModule.register({
      log,
      driver,
      instance: options.instance,
      ttlMinutes: config.sandboxTtlMinutes,
      mirrorsDirectory: join(config.state, 'mirrors'),
      activeMax: config.maxActiveSessions,
      onError: options.onError,
      source: new CredentialSource({
        store: new SecretStore(log.pool, vault, systemClock),
        command:
          config.credentialCommand === null
            ? null
            : credentialCommand(config.credentialCommand, options.onError),
        now: () => systemClock.now(),
      }),
      handed: new HandedCredentials(log.pool, vault),
      machineKeys: providerKeys(options.envVars),
      installHarness: async (name, tell) => {
        if (!isHarnessName(name))
          throw new HangarError('invalid', `there is no harness called ${name}`);
        await installHarness(name, harnessDirectory, tell);
        return harnessDirectory;
      },
      io: {
        host: ioUrl.hostname === 'localhost' ? '127.0.0.1' : ioUrl.hostname,
        port: Number(ioUrl.port || 80),
        http2: DATA_HTTP2,
        routes: (onActivity) =>
          sandboxIoRoutes(driver, { authorize: createTokenCheck(serviceToken), onActivity }),
      },
    }),
  });
  return {
    ...service,
    close: async () => {
      await service.close();
      await driver.close();
      await log.close();
    },
  };
}
