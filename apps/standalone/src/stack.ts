import { mkdir } from 'node:fs/promises';
import { startCheckpoints } from '@hangar/app-checkpoints';
import { startGatewayService } from '@hangar/app-gateway';
import { startRuns } from '@hangar/app-runs';
import { startSandboxes } from '@hangar/app-sandboxes';
import { startSessions } from '@hangar/app-sessions';
import { createLogger, type Closable, type Config } from '@hangar/service-kit';
import { startServers } from './servers.ts';
import { lockState } from './state-lock.ts';

export interface Stack {
  url: string;
  adminToken: string;
  /** What a person should know about this machine before relying on it. */
  warnings: string[];
  /** The settings with the addresses and keys of what was started. */
  config: Config;
  /** Everything that runs, in the order it was started. */
  parts: Closable[];
}

/** One process, one state directory: its unfinished work is this name's, and nobody else's. */
const INSTANCE = 'standalone';

/** All of hangar in this process, with the servers it needs as children. */
export async function startStack(
  settings: Config,
  envVars: Readonly<Record<string, string | undefined>>,
): Promise<Stack> {
  const parts: Closable[] = [];
  await mkdir(settings.state, { recursive: true });
  const unlock = await lockState(settings.state);
  parts.push({ name: 'lock', close: unlock });
  try {
    const logger = createLogger({ service: 'hangar', level: settings.logLevel });
    let closing = false;
    const onError = (error: unknown): void => {
      // What breaks off because everything is being closed is no news.
      if (!closing) logger.warn({ err: error }, 'something failed and will be tried again');
    };
    const { config, adminToken, warnings, servers } = await startServers(settings, onError);
    parts.push(...servers);
    const common = { instance: INSTANCE, onError };
    // The migrations of one service are taken turns for by a lock; starting side by side is safe.
    const started = await Promise.allSettled([
      startSandboxes(config, {
        ...common,
        envVars,
        onProblem: (text) => warnings.push(text),
      }),
      startSessions(config, { onError }),
      startCheckpoints(config, common),
      startRuns(config, { ...common, envVars }),
      startGatewayService(config, { port: config.port, onError }),
    ]);
    for (const service of started) if (service.status === 'fulfilled') parts.push(service.value);
    parts.push({
      name: 'quiet',
      close: async () => {
        closing = true;
      },
    });
    const failed = started.find((service) => service.status === 'rejected');
    if (failed) throw failed.reason;
    const gateway = started[4];
    const url = gateway.status === 'fulfilled' ? gateway.value.url : null;
    return { url: url ?? '', adminToken, warnings, config, parts };
  } catch (error) {
    // One that does not close must not keep the others open, nor hide why the start failed.
    for (const part of parts.toReversed()) await part.close().catch(() => undefined);
    throw error;
  }
}
