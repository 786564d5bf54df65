import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Res,
  ServiceUnavailableException,
  type DynamicModule,
} from '@nestjs/common';
import { HealthCheckService, HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import type { Response } from 'express';
import type { Queryable } from './postgres/ask-postgres.ts';
import { redactShapes } from './redact.ts';

/** One thing a service cannot work without. Resolves when it is there, and rejects saying why not. */
export interface HealthCheck {
  name: string;
  check(signal: AbortSignal): Promise<Record<string, unknown> | void>;
}

/** A probe that waits longer is no use to whoever asks every few seconds. */
export const CHECK_MILLIS_MAX = 2_000;
/** Many probes at once ask the database once. */
const CHECK_CACHE_MILLIS = 500;

export function postgresCheck(pool: Queryable): HealthCheck {
  return {
    name: 'postgres',
    check: async () => {
      await pool.query('select 1');
    },
  };
}

/** `connection`: of NATS; only what is asked of it here. */
export function natsCheck(connection: {
  isClosed(): boolean;
  rtt(): Promise<number>;
}): HealthCheck {
  return {
    name: 'nats',
    check: async () => {
      if (connection.isClosed()) throw new Error('the connection is closed');
      return { round_trip_ms: await connection.rtt() };
    },
  };
}

/** The checks of this service; a module may add its own. */
@Injectable()
export class HealthChecks {
  readonly #checks: HealthCheck[] = [];

  add(...checks: HealthCheck[]): void {
    this.#checks.push(...checks);
  }

  all(): readonly HealthCheck[] {
    return this.#checks;
  }
}

/** GET /health/live: the process answers. GET /health/ready: it can do its work (200, else 503). */
@Controller('health')
export class HealthController {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(HealthChecks) private readonly checks: HealthChecks,
  ) {}

  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  async ready(@Res({ passthrough: true }) response: Response): Promise<object> {
    const checks = this.checks.all().map(
      (each) => () =>
        this.indicators
          .check(each.name)
          .attempt(({ signal }) => withoutSecrets(() => each.check(signal)))
          .withTimeout(CHECK_MILLIS_MAX)
          .cacheFor(CHECK_CACHE_MILLIS),
    );
    try {
      return await this.health.check(checks);
    } catch (error) {
      if (!(error instanceof ServiceUnavailableException)) throw error;
      // Not an error of this request but its answer, so it has the same shape as when all is well.
      response.status(503);
      return error.getResponse() as object;
    }
  }
}

async function withoutSecrets(
  check: () => Promise<Record<string, unknown> | void>,
): Promise<Record<string, unknown> | void> {
  try {
    return await check();
  } catch (error) {
    const message = error instanceof Error ? error.message || error.name : String(error);
    throw new Error(redactShapes(message), { cause: error });
  }
}

@Module({})
export class HealthModule {
  static register(checks: readonly HealthCheck[]): DynamicModule {
    const healthChecks = new HealthChecks();
    healthChecks.add(...checks);
    return {
      module: HealthModule,
      global: true,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController],
      providers: [{ provide: HealthChecks, useValue: healthChecks }],
      exports: [HealthChecks],
    };
  }
}
