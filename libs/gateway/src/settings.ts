import type { HarnessDocument } from '@hangar/contracts';
import type { Config } from '@hangar/service-kit';

/** The settings that bound what people ask for; `harnesses` are those installed here. */
export type GatewaySettings = Pick<
  Config,
  | 'sessionCheckpointMinutes'
  | 'sessionKeepCheckpoints'
  | 'sessionMaxPartMb'
  | 'sessionMaxUntrackedMb'
  | 'startDeadlineMinutes'
  | 'turnMinutes'
  | 'sandboxTtlMinutes'
  | 'maxActiveSessions'
  | 'webhookPrivate'
> & { harnesses: readonly HarnessDocument[] };
