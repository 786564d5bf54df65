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
  natsCheck,
  postgresCheck,
  required,
  secretRevealer,
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

/** What a run gets from hangar's own environment when the machine's owner put it there. */
const HOST_VARIABLES = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_BASE_URL',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'GEMINI_API_KEY',
  'GOOGLE_GEMINI_BASE_URL',
  'OPENROUTER_API_KEY',
] as const;

export async function startRuns(config: Config, options: StartOptions): Promise<Service> {
  const log = await connectLog(logAddress(config, 'runs'));
  await log.pool.query(SECRET_TABLE_SQL);
  const vault = new Vault(required(config, 'vaultKeys', 'runs'));
  const io = createRemoteSandboxIo({
    url: required(config, 'sandboxIoUrl', 'runs'),
    token: required(config, 'serviceToken', 'runs'),
    quiet: true,
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
      revealSecrets: secretRevealer(new SecretStore(log.pool, vault, systemClock)),
      hostVariables: Object.fromEntries(
        HOST_VARIABLES.flatMap((name) => {
          const value = options.envVars[name];
          return value ? [[name, value]] : [];
        }),
      ),
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
