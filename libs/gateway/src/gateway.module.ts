import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { ActivityController } from './activity/activity.controller.ts';
import { ActivityService } from './activity/activity.service.ts';
import { AuditController } from './audit/audit.controller.ts';
import { AuditService } from './audit/audit.service.ts';
import { AccessGuard, TOKEN_RESOLVER } from './auth/access.guard.ts';
import { AnswerInterceptor } from './auth/answer.ts';
import { CheckpointsController } from './checkpoints/checkpoints.controller.ts';
import { SandboxCallsService } from './checkpoints/sandbox-calls.service.ts';
import { EnvironmentsController } from './environments/environments.controller.ts';
import { EnvironmentsService } from './environments/environments.service.ts';
import type { GatewayParts } from './gateway.parts.ts';
import { HarnessesController } from './harnesses/harnesses.controller.ts';
import { LimitsController } from './limits/limits.controller.ts';
import { LimitsService } from './limits/limits.service.ts';
import { LiveController } from './live/live.controller.ts';
import { LiveService } from './live/live.service.ts';
import { McpController } from './mcp/mcp.controller.ts';
import { SecretsController } from './secrets/secrets.controller.ts';
import { SecretsService } from './secrets/secrets.service.ts';
import { CardsController } from './sessions/cards.controller.ts';
import { SessionsController } from './sessions/sessions.controller.ts';
import { SessionsService } from './sessions/sessions.service.ts';
import { TerminalsController } from './terminals/terminals.controller.ts';
import { TerminalsService } from './terminals/terminals.service.ts';
import { TokensController } from './tokens/tokens.controller.ts';
import { TokensService } from './tokens/tokens.service.ts';
import { WebhooksController } from './webhooks/webhooks.controller.ts';
import { WebhooksService } from './webhooks/webhooks.service.ts';

/** Every controller of the API; a spec holds each of their routes to a scope. */
export const CONTROLLERS = [
  SessionsController,
  CardsController,
  ActivityController,
  CheckpointsController,
  TerminalsController,
  LiveController,
  EnvironmentsController,
  SecretsController,
  TokensController,
  LimitsController,
  HarnessesController,
  AuditController,
  WebhooksController,
  McpController,
];

@Module({})
export class GatewayModule {
  static register(parts: GatewayParts): DynamicModule {
    const providers: Provider[] = [
      { provide: TOKEN_RESOLVER, useValue: parts.tokenResolver },
      { provide: SessionsService, useValue: parts.sessions },
      { provide: SandboxCallsService, useValue: parts.sandboxCalls },
      { provide: TerminalsService, useValue: parts.terminals },
      { provide: LiveService, useValue: parts.live },
      { provide: ActivityService, useValue: parts.activity },
      { provide: EnvironmentsService, useValue: parts.environments },
      { provide: SecretsService, useValue: parts.secrets },
      { provide: TokensService, useValue: parts.tokens },
      { provide: LimitsService, useValue: parts.limits },
      { provide: AuditService, useValue: parts.audit },
      { provide: WebhooksService, useValue: parts.webhooks.service },
      { provide: APP_GUARD, useClass: AccessGuard },
      { provide: APP_INTERCEPTOR, useClass: AnswerInterceptor },
    ];
    return { module: GatewayModule, controllers: CONTROLLERS, providers };
  }
}
