import {
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { AnyEvent } from '@hangar/contracts';
import type { HarnessAdapter } from '@hangar/harness-adapters';
import {
  causedBy,
  createActivityLog,
  createConsumer,
  createEffectRunner,
  createRelay,
  parkedError,
  type LogConnection,
} from '@hangar/messaging';
import { eventSubjects } from '@hangar/messaging/jetstream';
import type { SandboxIo } from '@hangar/sandbox-drivers';
import type { CredentialAsker } from '@hangar/service-kit';
import { runPolicy } from './run.policy.ts';
import { EXECUTE, createRuns, nudgeSubject } from './run.service.ts';
import { runVariables, type VariableSources } from './run-variables.ts';
import { createRunWorker, type WorkerOptions } from './run.worker.ts';
import { terminalPolicy } from './terminal.policy.ts';
import { createTerminals, TALK } from './terminal.service.ts';
import { createTerminalWorker } from './terminal.worker.ts';

export interface RunsOptions extends VariableSources {
  log: LogConnection;
  io: SandboxIo;
  instance: string;
  adapter(harness: string): HarnessAdapter;
  handed: WorkerOptions['handed'];
  now?(): Date;
  onError(error: unknown): void;
}

/** Runs at work at once in one process. */
const CONCURRENCY = 64;

interface Part {
  start(): void;
  stop(): Promise<void>;
}

class RunsRuntime implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #options: RunsOptions;
  readonly #parts: Part[] = [];

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  onApplicationBootstrap(): void {
    const { log, instance, onError } = this.#options;
    const { pool, nats, wake } = log;
    const now = this.#options.now ?? (() => new Date());
    const store = log.store(['run', 'terminal']);
    const runs = createRuns(pool, store);
    const terminals = createTerminals(pool, store);
    const activity = createActivityLog(pool);
    const variables = {
      runVariables: (asker: CredentialAsker) => runVariables(store, this.#options, asker),
    };
    const shared = { ...this.#options, ...variables, nats, now };
    const worker = createRunWorker({ ...shared, runs, activity });
    const talks = createTerminalWorker({ ...shared, terminals });
    this.#parts.push(
      createRelay({ pool, nats, wake, onError }),
      createConsumer({
        name: 'runs-policy-session',
        pool,
        nats,
        filter: eventSubjects('session'),
        readStream: store.readStream,
        onParked: (event, error) => onError(parkedError(event, error)),
        onError,
        handle: async (event, tx) => {
          if (event.type === 'SessionDeleted')
            await activity.forget(String(event.data['session_id']));
          const at = now().toISOString();
          for (const { run_id, command } of runPolicy(event as unknown as AnyEvent, at)) {
            await runs.execute(run_id, command, { meta: causedBy(event, 'runs'), tx });
            if (command.type !== 'StartRun') tx.onCommit(() => nats.publish(nudgeSubject(run_id)));
          }
          for (const { terminal_id, command } of terminalPolicy(event as unknown as AnyEvent, at)) {
            await terminals.execute(terminal_id, command, { meta: causedBy(event, 'runs'), tx });
            if (command.type === 'EndTerminal')
              tx.onCommit(() => nats.publish(nudgeSubject(terminal_id)));
          }
        },
      }),
      createEffectRunner({
        pool,
        wake,
        instance: `${instance}-runs`,
        kinds: { [EXECUTE]: worker.execute, [TALK]: talks.talk },
        concurrency: CONCURRENCY,
        // A sandbox that cannot be asked is asked again for as long as it takes [S5].
        attemptsMax: Number.MAX_SAFE_INTEGER,
        onError: (error) => onError(error),
      }),
    );
    for (const part of this.#parts) part.start();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const part of this.#parts.toReversed()) await part.stop();
  }
}

@Module({})
export class RunsModule {
  static register(options: RunsOptions): DynamicModule {
    return {
      module: RunsModule,
      providers: [{ provide: RunsRuntime, useFactory: () => new RunsRuntime(options) }],
    };
  }
}
