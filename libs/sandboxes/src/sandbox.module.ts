import {
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerOptions,
} from 'node:http2';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { ConnectRouter } from '@connectrpc/connect';
import type { AnyEvent } from '@hangar/contracts';
import {
  causedBy,
  createConsumer,
  createEffectRunner,
  createPresence,
  createRelay,
  makeTable,
  parkedError,
  tellHanded,
  type ConsumerOptions,
  type LogConnection,
  type EffectRunnerOptions,
  type Presence,
} from '@hangar/messaging';
import { eventSubjects } from '@hangar/messaging/jetstream';
import type { SandboxDriver } from '@hangar/sandbox-drivers';
import { activityObserver, type Activity } from './activity.ts';
import type { CredentialSource, HandedCredentials } from '@hangar/service-kit';
import { createCredentials, type Credentials } from './credentials.ts';
import { createEnvironmentController, createEnvironments } from './environment.service.ts';
import { createMirrors, type Mirrors } from './mirrors.ts';
import { sandboxPolicy } from './sandbox.policy.ts';
import { createReaper } from './sandbox.reaper.ts';
import {
  DESTROY,
  PROVISION,
  SANDBOX_INDEX_TABLE,
  createSandboxes,
  sandboxesAhead,
  type Sandboxes,
} from './sandbox.service.ts';
import { createTerminalWatch } from './terminal-watch.ts';
import { createSandboxWorker, holderOf } from './sandbox.worker.ts';

export interface SandboxesOptions {
  log: LogConnection;
  driver: SandboxDriver;
  /** Stable name of this replica: it takes its own unfinished work over at once. */
  instance: string;
  ttlMinutes: number;
  /** Sandboxes at the same time; more wait for their turn. */
  activeMax: number;
  io: {
    host: string;
    port: number;
    /** The driver's byte streams as Connect routes; told of activity, which it may refuse. */
    routes(onActivity: (activity: Activity) => Promise<void>): (router: ConnectRouter) => void;
    /** Windows large enough for bytes in bulk. */
    http2: ServerOptions;
    onListening?(port: number): void;
  };
  /** Where copies of remotes are kept, on the file system of the sandboxes; without it, none are. */
  mirrorsDirectory?: string;
  installHarness(name: string, log: (line: string) => void): Promise<string>;
  source: CredentialSource;
  handed: HandedCredentials;
  /** Provider keys of hangar's own environment. */
  machineKeys: Readonly<Record<string, string>>;
  now?(): Date;
  onError(error: unknown): void;
}

/** Starts at work at once, those that wait for room among them. */
const STARTS_MAX = 128;
/** Ends have places of their own: they are what the starts wait for. */
const ENDS_MAX = 16;

interface Part {
  start(): void;
  stop(): Promise<void>;
}

const policyHandler =
  (sandboxes: Sandboxes, ttlMinutes: number, now: () => Date): ConsumerOptions['handle'] =>
  async (event, tx) => {
    const at = now().toISOString();
    const steps = sandboxPolicy(event as unknown as AnyEvent, at, { ttlMinutes });
    const meta = causedBy(event, 'sandboxes');
    for (const { sandbox_id, command } of steps)
      await sandboxes.execute(sandbox_id, command, { meta, tx });
  };

class SandboxesRuntime implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #options: SandboxesOptions;
  readonly #parts: Part[] = [];
  #io: IoServer | undefined;
  #mirrors: Mirrors | undefined;
  #credentials: Credentials | undefined;

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { log, driver, source, instance, ttlMinutes, onError } = this.#options;
    const { pool, nats, wake } = log;
    const now = this.#options.now ?? (() => new Date());
    await makeTable(pool, SANDBOX_INDEX_TABLE);
    const store = log.store(['sandbox', 'environment']);
    const presence = createPresence(pool);
    const sandboxes = createSandboxes(pool, store);
    const environments = createEnvironments(pool, store);
    const credentials = createCredentials({
      ...this.#options,
      tellHanded: (sandboxId) => tellHanded(nats, sandboxId),
    });
    this.#credentials = credentials;
    const mirrors = createMirrors({
      directory: this.#options.mirrorsDirectory ?? null,
      driver,
      credentials,
      now,
      onError,
    });
    this.#mirrors = mirrors;
    const terminals = createTerminalWatch({ driver, presence, now });
    const parts = { sandboxes, environments };
    const worker = createSandboxWorker({
      ...this.#options,
      ...parts,
      now,
      forgetPresence: presence.forget,
      revealSecrets: (asker, names) => source.reveal(asker, names),
      credentials,
      mirrors,
      sandboxesAhead: (id) => sandboxesAhead(pool, id),
    });
    this.#io = await serveIo(this.#options, presence);
    const effects = (kinds: EffectRunnerOptions['kinds'], concurrency: number): Part =>
      createEffectRunner({
        pool,
        wake,
        instance: `${instance}-sandboxes`,
        kinds,
        concurrency,
        // Tried until it is done: a sandbox that cannot be asked is not gone.
        attemptsMax: Number.MAX_SAFE_INTEGER,
        onError: (error) => onError(error),
      });
    this.#parts.push(
      createRelay({ pool, nats, wake, onError }),
      createConsumer({
        name: 'sandboxes-policy-session',
        pool,
        nats,
        filter: eventSubjects('session'),
        readStream: store.readStream,
        onParked: (event, error) => onError(parkedError(event, error)),
        onError,
        handle: policyHandler(sandboxes, ttlMinutes, now),
      }),
      effects({ [PROVISION]: worker.provision }, STARTS_MAX),
      effects({ [DESTROY]: worker.destroy }, ENDS_MAX),
      createReaper({
        ...this.#options,
        pool,
        sandboxes,
        presence,
        isOwn: mirrors.isFeeding,
        // Also those that were there before this process was.
        onFound: (ref) => {
          credentials.serve(ref, () => holderOf(parts, ref.id));
          terminals.look(ref);
        },
        now,
      }),
      createEnvironmentController({ nats, environments, onError }),
    );
    for (const part of this.#parts) part.start();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const part of this.#parts.toReversed()) await part.stop();
    await this.#mirrors?.close();
    await this.#credentials?.close();
    await this.#io?.close();
  }
}

interface IoServer {
  close(): Promise<void>;
}

/** The byte streams of all sandboxes, on HTTP/2 without TLS: one owner sees all activity. */
async function serveIo(options: SandboxesOptions, presence: Presence): Promise<IoServer> {
  const { host, port, routes, http2, onListening } = options.io;
  const server: Http2Server = createServer(
    http2,
    connectNodeAdapter({ routes: routes(activityObserver(presence)) }),
  );
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.listen(port, host);
  await once(server, 'listening');
  onListening?.((server.address() as AddressInfo).port);
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

@Module({})
export class SandboxesModule {
  static register(options: SandboxesOptions): DynamicModule {
    return {
      module: SandboxesModule,
      providers: [{ provide: SandboxesRuntime, useFactory: () => new SandboxesRuntime(options) }],
    };
  }
}
