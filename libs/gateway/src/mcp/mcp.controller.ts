import {
  Controller,
  Inject,
  Logger,
  Req,
  Res,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { HangarError } from '@hangar/contracts';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  localhostAllowedOrigins,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import type { Response } from 'express';
import { z } from 'zod';
import { ActivityService } from '../activity/activity.service.ts';
import { FromCaller, type Caller, type CheckedRequest } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { SandboxCallsService } from '../checkpoints/sandbox-calls.service.ts';
import { EnvironmentsService } from '../environments/environments.service.ts';
import { LimitsService } from '../limits/limits.service.ts';
import { SessionsService } from '../sessions/sessions.service.ts';
import { createMcpServer } from './mcp.server.ts';
import type { ToolServices } from './tool.ts';

/**
 * MCP over streamable HTTP, without sessions, so that any replica answers any request: clients of
 * the 2026 and of the 2025 protocol alike. Who calls is what the access guard found out.
 */
@ApiExcludeController()
@Controller('mcp')
export class McpController implements OnModuleDestroy, OnApplicationShutdown {
  readonly #logger = new Logger('mcp');
  readonly #closing = new AbortController();
  readonly #handler;
  readonly #serve;

  constructor(
    @Inject(SessionsService) sessions: SessionsService,
    @Inject(ActivityService) activity: ActivityService,
    @Inject(SandboxCallsService) sandboxCalls: SandboxCallsService,
    @Inject(EnvironmentsService) environments: EnvironmentsService,
    @Inject(LimitsService) limits: LimitsService,
  ) {
    const services: ToolServices = { sessions, activity, sandboxCalls, environments, limits };
    const onFailure = (err: unknown, request_id: string): void =>
      this.#logger.error({ err, request_id }, 'a tool failed');
    const parts = { services, closing: this.#closing.signal, onFailure };
    this.#handler = createMcpHandler(
      ({ authInfo }) => createMcpServer(authInfo?.extra?.['caller'] as Caller, parts),
      // Headers at once: a call that waits for minutes would be given up by whoever waits for them.
      { responseMode: 'sse' },
    );
    this.#serve = toNodeHandler(this.#handler);
  }

  @Route({
    at: 'ALL ',
    id: 'mcp',
    summary: 'The tools of hangar, by the Model Context Protocol; each has a scope of its own.',
    scope: 'read',
    answers: { 200: z.unknown() },
  })
  async handle(
    @FromCaller() caller: Caller,
    @Req() request: CheckedRequest,
    @Res() response: Response,
  ): Promise<void> {
    requireLocalOrigin(request.headers.origin);
    const auth = {
      token: '',
      clientId: caller.tokenId,
      scopes: [...caller.scopes],
      extra: { caller },
    };
    await this.#serve(Object.assign(request, { auth }), response, request.body);
  }

  onModuleDestroy(): void {
    this.#closing.abort();
  }

  /** After the last answer: what is being answered is not cut. */
  async onApplicationShutdown(): Promise<void> {
    await this.#handler.close();
  }
}

/**
 * Agents send no Origin; a web page does. One that reached this port by a name of its own (DNS
 * rebinding) is refused, whatever token it has got hold of.
 */
function requireLocalOrigin(origin: string | undefined): void {
  if (validateOriginHeader(origin, localhostAllowedOrigins()).ok) return;
  throw new HangarError('forbidden', 'A web page of another host may not use this server.', {
    hint: 'Call it without an Origin header, or from a page of this machine.',
  });
}
