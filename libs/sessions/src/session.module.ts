import {
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { AnyEvent } from '@hangar/contracts';
import {
  causedBy,
  createConsumer,
  createPresence,
  createRelay,
  makeTable,
  parkedError,
  type Consumer,
  type LogConnection,
} from '@hangar/messaging';
import { eventSubjects } from '@hangar/messaging/jetstream';
import { createPruning } from './pruning.ts';
import { createSessionController } from './session.controller.ts';
import { withPresence } from './presence-now.ts';
import { sessionPolicy } from './session.policy.ts';
import { SESSION_NAME_TABLE, createSessions } from './session.service.ts';
import { createSessionTicker } from './session.ticker.ts';
import type { SessionSettings } from './session.timers.ts';

export interface SessionsOptions {
  log: LogConnection;
  settings: SessionSettings;
  now?(): Date;
  onError(error: unknown): void;
}

interface Part {
  start(): void;
  stop(): Promise<void>;
}

/** The parts of the sessions service, started together and stopped in reverse. */
class SessionsRuntime implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #options: SessionsOptions;
  readonly #parts: Part[] = [];

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { log, settings, onError, now = () => new Date() } = this.#options;
    const { pool, nats, wake } = log;
    await makeTable(pool, SESSION_NAME_TABLE);
    const presence = createPresence(pool);
    const store = log.store(['session']);
    const sessions = createSessions({ pool, store, presence, settings });
    const follow = (aggregate: 'sandbox' | 'run' | 'terminal' | 'checkpoint'): Consumer =>
      createConsumer({
        name: `sessions-policy-${aggregate}`,
        pool,
        nats,
        filter: eventSubjects(aggregate),
        readStream: store.readStream,
        onParked: (event, error) => onError(parkedError(event, error)),
        onError,
        handle: async (event, tx) => {
          const steps = sessionPolicy(event as unknown as AnyEvent, now().toISOString());
          const meta = causedBy(event, 'sessions');
          for (const { session_id, command } of steps)
            await sessions.execute(session_id, await withPresence(presence, command, tx), {
              meta,
              tx,
            });
        },
      });
    this.#parts.push(
      createRelay({ pool, nats, wake, onError }),
      follow('sandbox'),
      follow('run'),
      follow('terminal'),
      follow('checkpoint'),
      createSessionTicker({ pool, wake, sessions, presence, settings, now, onError }),
      createSessionController({ nats, sessions, now, onError }),
      createPruning(pool, onError),
    );
    for (const part of this.#parts) part.start();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const part of this.#parts.toReversed()) await part.stop();
  }
}

@Module({})
export class SessionsModule {
  static register(options: SessionsOptions): DynamicModule {
    return {
      module: SessionsModule,
      providers: [{ provide: SessionsRuntime, useFactory: () => new SessionsRuntime(options) }],
    };
  }
}
