import type {
  CreatedWebhook,
  DeliveryDocument,
  SessionDocument,
  WebhookDetails,
  WebhookDocument,
} from '@hangar/contracts';
import { createFakeClock, eventually } from '@hangar/testing';
import { call, newOwner, type Answered } from './http.ts';
import { Receiver } from './receiver.ts';
import { startGatewayStack, TEST_SETTINGS, type GatewayStack } from './stack.ts';

/** A gateway whose webhooks may go to loopback, with time, deadlines and names of the test's own. */
export class WebhookBench {
  readonly clock = createFakeClock(new Date().toISOString());
  /** One for each try, in order. */
  readonly deadlines: AbortController[] = [];
  /** Addresses by name. */
  readonly names: Record<string, string[]> = {};
  readonly options = {
    settings: { ...TEST_SETTINGS, webhookPrivate: 'true' as const },
    webhookWorld: {
      now: () => this.clock.now(),
      deadline: () => {
        const deadline = new AbortController();
        this.deadlines.push(deadline);
        return deadline.signal;
      },
      resolve: (host: string) => Promise.resolve(this.names[host] ?? []),
    },
  };
  readonly stack: GatewayStack;
  /** Tokens of two owners, each with an environment `empty`. */
  readonly ada: string;
  readonly bob: string;
  #receiver: Receiver | undefined;
  #made = 0;

  private constructor(stack: GatewayStack, ada: string, bob: string) {
    this.stack = stack;
    this.ada = ada;
    this.bob = bob;
  }

  static async start(): Promise<WebhookBench> {
    const stack = await startGatewayStack();
    const [ada, bob] = [await newOwner(stack, 'ada'), await newOwner(stack, 'bob')];
    for (const token of [ada, bob]) {
      await call(stack, 'POST /api/environments', { body: { name: 'empty' }, token });
    }
    const bench = new WebhookBench(stack, ada, bob);
    await bench.restart();
    return bench;
  }

  /** Another gateway on the same log. */
  async restart(options: Parameters<GatewayStack['start']>[0] = {}): Promise<void> {
    await this.stack.stopGateway();
    await this.stack.start({ ...this.options, ...options });
  }

  get receiver(): Receiver {
    if (!this.#receiver) throw new Error('no test runs');
    return this.#receiver;
  }

  async beforeEach(): Promise<void> {
    this.#receiver = await Receiver.start();
  }

  async afterEach(): Promise<void> {
    for (const token of [this.ada, this.bob]) {
      const { body } = await call<{ items: WebhookDocument[] }>(this.stack, 'GET /api/webhooks', {
        token,
      });
      for (const { name } of body.items) {
        await call(this.stack, `DELETE /api/webhooks/${name}`, { token });
      }
    }
    await this.receiver.close();
  }

  async create(body: Record<string, unknown> = {}, token = this.ada): Promise<CreatedWebhook> {
    this.#made += 1;
    const given = { name: `hook-${this.#made}`, url: this.receiver.url(), ...body };
    const at = 'POST /api/webhooks';
    const created = await call<CreatedWebhook>(this.stack, at, { body: given, token });
    if (created.status === 201) return created.body;
    throw new Error(`no webhook: ${created.status} ${JSON.stringify(created.body)}`);
  }

  async get(name: string, token = this.ada, query = ''): Promise<WebhookDetails> {
    const at = `GET /api/webhooks/${name}${query}`;
    return (await call<WebhookDetails>(this.stack, at, { token })).body;
  }

  test(name: string): Promise<Answered<DeliveryDocument>> {
    return call(this.stack, `POST /api/webhooks/${name}/test`, { token: this.ada });
  }

  /** The newest delivery, once it is as asked. */
  newest(name: string, wanted: Partial<DeliveryDocument>): Promise<DeliveryDocument> {
    return eventually(async () => {
      const [first] = (await this.get(name)).deliveries;
      const isSo = Object.entries(wanted).every(
        ([key, value]) => first?.[key as keyof DeliveryDocument] === value,
      );
      return isSo ? first : undefined;
    });
  }

  /** The newest delivery, once a try of it has failed. */
  failedOnce(name: string): Promise<DeliveryDocument> {
    return eventually(async () => {
      const [first] = (await this.get(name)).deliveries;
      return first?.attempts === 1 && first.last_error !== null ? first : undefined;
    });
  }

  /** A session whose turn runs until the test ends it. */
  async busySession(name: string): Promise<SessionDocument> {
    this.stack.spokes.held.add('RunFinished');
    const body = { name, environment: 'empty', harness: 'fake', message: 'go' };
    const { body: session } = await call<SessionDocument>(this.stack, 'POST /api/sessions', {
      body,
      token: this.ada,
    });
    // The harness has its message: what tells of that is behind, so that the test's word is next.
    const run = `run/run-${session.id.slice('ses-'.length)}-1`;
    await eventually(async () => {
      const sql = 'select from es.stream where id = $1 and version = 2';
      return (await this.stack.log.pool.query(sql, [run])).rowCount === 1;
    });
    return session;
  }

  /** Its turn is cut: the session gets a card. */
  async interruptedSession(name: string): Promise<SessionDocument> {
    const { id } = await this.busySession(name);
    await this.stack.spokes.loseRun(id, 1);
    return eventually(async () => {
      const at = `GET /api/sessions/${name}`;
      const { body } = await call<SessionDocument>(this.stack, at, { token: this.ada });
      return body.attention.length > 0 ? body : undefined;
    });
  }

  /** Everything that was committed has been seen by the consumer of webhooks. */
  settled(): Promise<true> {
    return eventually(async () => {
      const { rows } = await this.stack.log.pool.query<{ n: number }>(
        `select count(*)::int as n from es.stream s
        left join es.inbox i on i.stream_id = s.id and i.consumer = 'gateway-webhooks'
        where s.aggregate = 'session' and s.version > coalesce(i.version, 0)`,
      );
      return rows[0]?.n === 0;
    });
  }

  /** To the consumer, every event is new again. */
  async forgetInbox(): Promise<void> {
    await this.stack.stopGateway();
    await this.stack.log.pool.query("delete from es.inbox where consumer = 'gateway-webhooks'");
    await this.restart();
    await this.settled();
  }
}
