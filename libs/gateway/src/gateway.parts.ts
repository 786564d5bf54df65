import {
  createActivityLog,
  createCommandClient,
  type LogConnection,
  type Projector,
} from '@hangar/messaging';

import type { SandboxIo } from '@hangar/sandbox-drivers';
import { systemClock, TokenStore, type Vault } from '@hangar/service-kit';
import type { DataSource } from 'typeorm';
import { ActivityService } from './activity/activity.service.ts';
import { AuditService } from './audit/audit.service.ts';
import { AccessLog } from './auth/access-log.ts';
import type { TokenResolver } from './auth/access.guard.ts';
import { SandboxCallsService, type CheckpointExport } from './checkpoints/sandbox-calls.service.ts';
import { Commands } from './commands.ts';
import { EnvironmentReader } from './environments/environment.reader.ts';
import { EnvironmentsService } from './environments/environments.service.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { LimitsService } from './limits/limits.service.ts';
import { EventOwners } from './live/event.document.ts';
import { LiveService } from './live/live.service.ts';
import { Signal } from './live/signal.ts';
import { SecretsService } from './secrets/secrets.service.ts';
import { SessionReader } from './sessions/session.reader.ts';
import { SessionsService } from './sessions/sessions.service.ts';
import type { GatewaySettings } from './settings.ts';
import { TerminalsService } from './terminals/terminals.service.ts';
import { TokensService } from './tokens/tokens.service.ts';
import { ViewWatch } from './views/view-watch.ts';
import { createWebhooks, type Webhooks, type WebhookWorld } from './webhooks/webhooks.ts';

/** What the composition root hands to the gateway. */
export interface GatewayDependencies {
  log: LogConnection;
  vault: Vault;
  /** HANGAR_TOKEN: an admin token without a row. */
  bootstrapToken: string | null;
  /** Whose that token is; `admin` when left out. */
  bootstrapOwner?: string;
  sandboxIo: Pick<SandboxIo, 'exec' | 'terminals'>;
  checkpointExport: CheckpointExport;
  settings: GatewaySettings;
  /** Milliseconds of silence after which a stream of events says that it is still there. */
  heartbeatMs?: number;
  /** Milliseconds for which a client of such a stream may take nothing. */
  slowClientMsMax?: number;
  webhookWorld?: WebhookWorld;
  onError(error: unknown): void;
}

/** The services behind the controllers. */
export interface GatewayParts {
  tokenResolver: TokenResolver;
  signal: Signal;
  live: LiveService;
  activity: ActivityService;
  sessions: SessionsService;
  sandboxCalls: SandboxCallsService;
  terminals: TerminalsService;
  environments: EnvironmentsService;
  secrets: SecretsService;
  tokens: TokensService;
  limits: LimitsService;
  audit: AuditService;
  webhooks: Webhooks;
}

/** Wires everything by hand: what depends on what is read here, and nowhere else. */
export function gatewayParts(
  dependencies: GatewayDependencies,
  source: DataSource,
  projector: Projector,
): GatewayParts {
  const { log, vault, settings, sandboxIo, checkpointExport } = dependencies;
  const { heartbeatMs, slowClientMsMax, webhookWorld, onError } = dependencies;
  const { pool } = log;
  const store = log.store(['access']);
  const signal = new Signal((announce) => log.wake.subscribe('log', announce));
  const watch = new ViewWatch(projector, signal);
  const commands = new Commands(createCommandClient({ nats: log.nats }));
  const idempotency = new Idempotency(pool, vault);
  const reader = new SessionReader(source);
  const environments = new EnvironmentReader(source);
  const access = new AccessLog(pool, store);
  const owners = new EventOwners(store);
  const tokens = new TokenStore(pool, {
    clock: systemClock,
    bootstrapToken: dependencies.bootstrapToken,
    ...(dependencies.bootstrapOwner ? { bootstrapOwner: dependencies.bootstrapOwner } : {}),
  });
  const now = (): Date => systemClock.now();
  const shared = { commands, watch, idempotency, settings };
  const live = new LiveService({
    store,
    owners,
    reader,
    signal,
    caughtUp: () => watch.caughtUp(),
    ...(heartbeatMs && { heartbeatMs }),
    ...(slowClientMsMax && { slowClientMsMax }),
  });
  const activity = createActivityLog(pool);
  return {
    tokenResolver: tokens,
    signal,
    live,
    activity: new ActivityService({ activity, pool, nats: log.nats, reader, live }),
    sessions: new SessionsService({ ...shared, reader, environments }),
    sandboxCalls: new SandboxCallsService({ reader, commands, sandboxIo, checkpointExport }),
    terminals: new TerminalsService({ ...shared, reader, sandboxIo }),
    environments: new EnvironmentsService({ ...shared, reader: environments }),
    secrets: new SecretsService({ pool, vault, log: access, idempotency, now }),
    tokens: new TokensService({ tokens, log: access, idempotency, clock: systemClock }),
    limits: new LimitsService(environments, settings),
    audit: new AuditService({ pool, store, reader }),
    webhooks: createWebhooks({
      log,
      store,
      vault,
      access,
      idempotency,
      onError,
      allowsPrivate: settings.webhookPrivate === 'true',
      ...(webhookWorld && { world: webhookWorld }),
    }),
  };
}
