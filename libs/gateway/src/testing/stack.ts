import { Readable } from 'node:stream';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HangarError, type EnvironmentEvent } from '@hangar/contracts';
import {
  connectLog,
  createAggregate,
  createCommandServer,
  type CommandServer,
  type EventMeta,
  type Json,
  type LogConnection,
} from '@hangar/messaging';
import type { ExecRequest, ExecStream, SandboxTerminals } from '@hangar/sandbox-drivers';
import { createFakeDriver, type FakeTerminal } from '@hangar/sandbox-drivers/fake';
import { Vault, type Service } from '@hangar/service-kit';
import { SessionsModule } from '@hangar/sessions';
import { startTestStack, type TestStack } from '@hangar/testing';
import type { CheckpointExport } from '../checkpoints/sandbox-calls.service.ts';
import type { GatewaySettings } from '../settings.ts';
import { startGateway, type GatewayOptions } from '../start-gateway.ts';
import { Spokes } from './spokes.ts';

export const ADMIN_TOKEN = 'hgr_test-admin-token-of-the-gateway-spec';

export const TEST_SETTINGS: GatewaySettings = {
  sessionCheckpointMinutes: 10,
  sessionKeepCheckpoints: 5,
  sessionMaxPartMb: 100,
  sessionMaxUntrackedMb: 50,
  startDeadlineMinutes: 15,
  turnMinutes: 60,
  sandboxTtlMinutes: 480,
  maxActiveSessions: 20,
  webhookPrivate: 'false',
  harnesses: ['claude-code', 'codex', 'pi', 'fake'].map((name) => ({
    name,
    version: name === 'fake' ? null : '1.0.0',
    verified: name !== 'pi',
    // One of each kind: what waits for its turn, and what joins the one that runs [M3].
    capabilities: {
      steer: name !== 'pi',
      approvals: name !== 'pi',
      talk: name !== 'pi',
      talkAsks: name === 'claude-code',
    },
  })),
};

/** The gateway on a real log and bus, with the real sessions service behind it. */
export class GatewayStack {
  readonly stack: TestStack;
  readonly log: LogConnection;
  readonly spokes: Spokes;
  readonly errors: unknown[] = [];
  exec: (request: ExecRequest) => ExecStream = () => execStream({});
  /** Terminals of whatever sandbox is asked: those of one fake. */
  readonly terminals = fakeTerminals();
  export: CheckpointExport = () => Promise.resolve(Readable.from(['tar bytes']));
  #gateway: Service | undefined;
  #options: Partial<GatewayOptions> = {};
  readonly #sessions: INestApplicationContext;
  readonly #servers: CommandServer[];

  constructor(
    stack: TestStack,
    log: LogConnection,
    sessions: INestApplicationContext,
    servers: CommandServer[],
  ) {
    this.stack = stack;
    this.log = log;
    this.spokes = new Spokes(log);
    this.#sessions = sessions;
    this.#servers = servers;
  }

  get url(): string {
    const url = this.#gateway?.url;
    if (!url) throw new Error('the gateway does not run');
    return url;
  }

  get app(): Service['app'] {
    if (!this.#gateway) throw new Error('the gateway does not run');
    return this.#gateway.app;
  }

  /** Starts it, or starts it again: another process on the same log. */
  async start(options: Partial<GatewayOptions> = {}): Promise<void> {
    this.#options = { ...this.#options, ...options };
    this.#gateway = await this.another(this.#options);
  }

  another(options: Partial<GatewayOptions> = {}): Promise<Service> {
    return startGateway({
      log: this.log,
      port: 0,
      vault: new Vault([Buffer.alloc(32, 7)]),
      bootstrapToken: ADMIN_TOKEN,
      sandboxIo: {
        exec: (_ref, request) => Promise.resolve(this.exec(request)),
        terminals: this.terminals.io,
      },
      checkpointExport: (session, checkpoint) => this.export(session, checkpoint),
      settings: TEST_SETTINGS,
      logLevel: 'silent',
      onError: (error) => this.errors.push(error),
      ...options,
    });
  }

  async stopGateway(): Promise<void> {
    await this.#gateway?.close();
    this.#gateway = undefined;
  }

  async close(): Promise<void> {
    await this.stopGateway();
    await this.spokes.stop();
    await Promise.all(this.#servers.map((server) => server.stop()));
    await this.#sessions.close();
    await this.log.close();
    await this.stack.close();
  }
}

export async function startGatewayStack(
  settings: GatewaySettings = TEST_SETTINGS,
): Promise<GatewayStack> {
  const stack = await startTestStack();
  const { url: natsUrl, user: natsUser, password: natsPassword } = stack.natsServer;
  const address = { databaseUrl: stack.databaseUrl, natsUrl, natsUser, natsPassword };
  const log = await connectLog({ ...address, service: 'gateway-spec', poolMax: 20 });
  const errors: unknown[] = [];
  const sessions = await NestFactory.createApplicationContext(
    SessionsModule.register({
      log,
      settings: {
        startDeadlineMinutes: settings.startDeadlineMinutes,
        checkpointMinutes: settings.sessionCheckpointMinutes,
      },
      onError: (error) => errors.push(error),
    }),
    { logger: false },
  );
  const servers = [environmentServer(log), changesServer(log)];
  for (const server of servers) server.start();
  const gateway = new GatewayStack(stack, log, sessions, servers);
  await gateway.start({ settings });
  gateway.spokes.start();
  return gateway;
}

type Environment = { version: number; recipe_json: string; deleted: boolean } | null;
type Define = { type: string; data: { owner: string; name: string; recipe_json: string } };

/** Defines and deletes environments as the sandboxes service does. */
function environmentServer(log: LogConnection): CommandServer {
  const environments = createAggregate<Environment, EnvironmentEvent, Define>({
    aggregate: 'environment',
    pool: log.pool,
    store: log.store(['environment']),
    foldVersion: 1,
    initial: null,
    evolve: (state, event) =>
      event.type === 'EnvironmentDefined'
        ? { ...event.data, deleted: false }
        : state && { ...state, deleted: true },
    decide: (state, { type, data }) => {
      const { owner, name, recipe_json } = data;
      if (type === 'DeleteEnvironment') {
        return [{ type: 'EnvironmentDeleted', data: { owner, name } }];
      }
      if (state && !state.deleted && state.recipe_json === recipe_json) return [];
      const version = (state?.version ?? 0) + 1;
      return [{ type: 'EnvironmentDefined', data: { owner, name, version, recipe_json } }];
    },
  });
  const handle =
    (type: string) =>
    async (json: Json): Promise<Json> => {
      const { data, meta } = json as unknown as { data: Define['data']; meta: EventMeta };
      const id = `${data.owner}_${data.name}`;
      const { version, events } = await environments.execute(id, { type, data }, { meta });
      return { version, events };
    };
  return createCommandServer({
    nats: log.nats,
    aggregate: 'environment',
    handlers: {
      DefineEnvironment: handle('DefineEnvironment'),
      DeleteEnvironment: handle('DeleteEnvironment'),
    },
  });
}

function changesServer(log: LogConnection): CommandServer {
  return createCommandServer({
    nats: log.nats,
    aggregate: 'checkpoint',
    handlers: {
      ReadChanges: (json) => {
        const { data } = json as unknown as {
          data: { place: object | null; checkpoint_id: string | null };
        };
        if (!data.place && !data.checkpoint_id) throw new HangarError('invalid', 'no source');
        return Promise.resolve({
          source: data.place ? 'sandbox' : 'checkpoint',
          taken_at: '2030-01-01T00:00:00.000Z',
          base: null,
          files: [],
        });
      },
    },
  });
}

/** A fake driver with one sandbox, behind every reference. */
function fakeTerminals() {
  const played: FakeTerminal[] = [];
  const driver = createFakeDriver({ terminal: (terminal) => void played.push(terminal) });
  const made = driver.create({
    id: 'sbx-0000000f-1',
    sessionId: 'ses-0000000f',
    cwd: '/workspace/app',
    envVars: {},
    network: 'none',
    mounts: [],
    resources: {},
  });
  const { terminals } = driver;
  const io: SandboxTerminals = {
    open: async (_ref, id, request) => terminals.open(await made, id, request),
    attach: async (_ref, id, view, signal) => terminals.attach(await made, id, view, signal),
    list: async () => terminals.list(await made),
    close: async (_ref, id) => terminals.close(await made, id),
  };
  return { io, played, vanish: async () => driver.vanish((await made).id) };
}

export const execStream = (answer: {
  stdout?: Uint8Array | string;
  stderr?: Uint8Array | string;
  exit?: Awaited<ExecStream['exit']>;
}): ExecStream => ({
  stdout: Readable.from([Buffer.from((answer.stdout ?? '') as string)]),
  stderr: Readable.from([Buffer.from((answer.stderr ?? '') as string)]),
  exit: Promise.resolve(answer.exit ?? { kind: 'exited', code: 0 }),
  kill: () => Promise.resolve(),
});
