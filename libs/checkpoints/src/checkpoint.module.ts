import {
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { BlobStore } from '@hangar/blob-stores';
import type { AnyEvent } from '@hangar/contracts';
import {
  causedBy,
  createCommandServer,
  createConsumer,
  createEffectRunner,
  createRelay,
  parkedError,
  type Json,
  type LogConnection,
} from '@hangar/messaging';
import { eventSubjects } from '@hangar/messaging/jetstream';
import type { SandboxIo } from '@hangar/sandbox-drivers';
import type { Vault } from '@hangar/service-kit';
import { readChanges, type ReadChanges } from './changes.ts';
import { checkpointPolicy } from './checkpoint.policy.ts';
import { DELETE, RESTORE, TAKE, createCheckpoints } from './checkpoint.service.ts';
import { createCheckpointStore } from './checkpoint.store.ts';
import { createCheckpointWorker, type CheckpointCaps } from './checkpoint.worker.ts';
import { createResidentTools, type ResidentTools } from './resident-tool.ts';
import { sessionCaps } from './session-caps.ts';

export interface CheckpointsOptions {
  log: LogConnection;
  io: SandboxIo;
  blobs: BlobStore;
  vault: Vault;
  instance: string;
  caps: CheckpointCaps;
  conversationDirectories(harness: string): readonly string[];
  now?(): Date;
  onError(error: unknown): void;
}

interface Part {
  start(): void;
  stop(): Promise<void>;
}

class CheckpointsRuntime implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #options: CheckpointsOptions;
  readonly #tools: ResidentTools;
  readonly #parts: Part[] = [];

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    this.#tools = createResidentTools(options.io);
  }

  onApplicationBootstrap(): void {
    const { log, io, blobs, vault, instance, onError } = this.#options;
    const { pool, nats, wake } = log;
    const now = this.#options.now ?? (() => new Date());
    const events = log.store(['checkpoint']);
    const checkpoints = createCheckpoints(pool, events);
    const store = createCheckpointStore(blobs, vault);
    const worker = createCheckpointWorker({
      ...this.#options,
      checkpoints,
      store,
      tools: this.#tools,
      now,
      caps: (sessionId) => sessionCaps(events, this.#options.caps, sessionId),
    });
    this.#parts.push(
      createRelay({ pool, nats, wake, onError }),
      createConsumer({
        name: 'checkpoints-policy-session',
        pool,
        nats,
        filter: eventSubjects('session'),
        readStream: events.readStream,
        onParked: (event, error) => onError(parkedError(event, error)),
        onError,
        handle: async (event, tx) => {
          const steps = checkpointPolicy(event as unknown as AnyEvent, now().toISOString());
          for (const { checkpoint_id, command } of steps) {
            const meta = causedBy(event, 'checkpoints');
            await checkpoints.execute(checkpoint_id, command, { meta, tx });
          }
        },
      }),
      createEffectRunner({
        pool,
        wake,
        instance: `${instance}-checkpoints`,
        kinds: { [TAKE]: worker.take, [RESTORE]: worker.restore, [DELETE]: worker.remove },
        // Taking and restoring give up by themselves; a store that is away is waited for.
        attemptsMax: Number.MAX_SAFE_INTEGER,
        onError: (error) => onError(error),
      }),
      createCommandServer({
        nats,
        aggregate: 'checkpoint',
        onError,
        handlers: {
          ReadChanges: async (body) => {
            const { data } = body as unknown as { data: ReadChanges };
            return (await readChanges({ io, store, now }, data)) as unknown as Json;
          },
        },
      }),
    );
    for (const part of this.#parts) part.start();
    // Keys that were rotated out stay needed until this is done; it is quick and can be repeated.
    void store.rewrap().catch(onError);
  }

  async onApplicationShutdown(): Promise<void> {
    for (const part of this.#parts.toReversed()) await part.stop();
    await this.#tools.close();
  }
}

@Module({})
export class CheckpointsModule {
  static register(options: CheckpointsOptions): DynamicModule {
    return {
      module: CheckpointsModule,
      providers: [
        { provide: CheckpointsRuntime, useFactory: () => new CheckpointsRuntime(options) },
      ],
    };
  }
}
