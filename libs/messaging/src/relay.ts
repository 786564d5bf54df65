import {
  jetstream,
  jetstreamManager,
  type JetStreamClient,
  type JetStreamManager,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type pg from 'pg';
import type { RecordedEvent } from './event.ts';
import { encodeEvent } from './jetstream/envelope.ts';
import {
  eventStreamConfig,
  findStream,
  type EventStreamOptions,
} from './jetstream/event-stream.ts';
import { eventSubject, RECREATED_SUBJECT } from './jetstream/subjects.ts';
import { heldBackMs, isHeldBack, readFeed } from './postgres/feed.ts';
import { resumeRelay, saveRelay, type RelayPlace } from './relay-resume.ts';
import { createSleeper } from './sleeper.ts';
import type { Wake } from './wake.ts';

export interface RelayOptions extends EventStreamOptions {
  pool: pg.Pool;
  nats: NatsConnection;
  wake: Wake;
  /** Row in es.relay; there is one relay, so one name. */
  name?: string;
  /** Relays with the same lock take turns. The lock saves work; order rests on the publishes. */
  lockName?: string;
  batchEventsMax?: number;
  sweepMs?: number;
  /** How often an idle relay looks whether the bus still has what it published. */
  checkMs?: number;
  /** How long the server may take to answer a publish or a question, in milliseconds. */
  timeoutMs?: number;
  /** Told of each failure, after which the relay goes on by itself. */
  onError?(error: unknown): void;
  /** Awaited before each batch is published; lets a test hold a relay up. */
  beforePublish?(): Promise<void>;
}

export interface Relay {
  start(): void;
  stop(): Promise<void>;
  /** What was done since the start, for health and metrics. */
  counts(): { published: number; resumed: number; recreated: number; isLeader: boolean };
}

const BATCH_EVENTS_MAX = 256;
const SWEEP_MS = 1000;
const CHECK_MS = 30_000;
const TIMEOUT_MS = 5000;
const FAILURE_PAUSE_MS = 250;

/**
 * Copies the log to JetStream in feed order. Whatever happens to the relay, to a second relay
 * or to the server, the JetStream stream is the log: message n is only accepted behind message
 * n - 1, and each message carries the place in the feed from which to go on.
 */
export function createRelay(options: RelayOptions): Relay {
  const relay = new LogRelay(options);
  return {
    start: () => relay.start(),
    stop: () => relay.stop(),
    counts: () => ({ ...relay.counts }),
  };
}

class LogRelay {
  readonly counts = { published: 0, resumed: 0, recreated: 0, isLeader: false };
  private readonly options: RelayOptions;
  private readonly sleeper = createSleeper();
  private readonly js: JetStreamClient;
  private readonly timeoutMs: number;
  private manager: JetStreamManager | undefined;
  private running: Promise<void> | undefined;
  private isStopped = false;
  private isReconnected = false;

  constructor(options: RelayOptions) {
    this.options = options;
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.js = jetstream(options.nats, { timeout: this.timeoutMs });
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.sleeper.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    const unsubscribe = this.options.wake.subscribe('log', () => {
      if (this.counts.isLeader) this.sleeper.wake();
    });
    void this.watch(this.options.nats.status());
    while (!this.isStopped && !this.options.nats.isClosed()) {
      try {
        await this.lead();
      } catch (error) {
        this.options.onError?.(error);
        await this.sleeper.sleep(this.isStopped ? 0 : FAILURE_PAUSE_MS);
      }
    }
    unsubscribe();
  }

  /** A server that came back may have lost its store: look at once. */
  private async watch(statuses: AsyncIterable<{ type: string }>): Promise<void> {
    for await (const status of statuses) {
      if (this.isStopped) return;
      if (status.type !== 'reconnect') continue;
      this.isReconnected = true;
      this.sleeper.wake();
    }
  }

  /** One term: ends with an error, or with the stop; the lock ends with its connection. */
  private async lead(): Promise<void> {
    const client = await this.options.pool.connect();
    let failure: Error | boolean = true;
    const onError = (error: Error): void => void (failure = error);
    client.on('error', onError);
    try {
      const lock = `hangar.relay.${this.options.lockName ?? this.options.name ?? 'main'}`;
      const text = 'select pg_try_advisory_lock(hashtextextended($1, 0)) as held';
      while (!this.isStopped) {
        const { rows } = await client.query<{ held: boolean }>(text, [lock]);
        if (rows[0]?.held) break;
        await this.sleeper.sleep(this.options.sweepMs ?? SWEEP_MS);
      }
      this.counts.isLeader = !this.isStopped;
      while (!this.isStopped) await this.relayFrom(client, await this.resume(client));
    } finally {
      this.counts.isLeader = false;
      client.off('error', onError);
      client.release(failure);
    }
  }

  private async resume(client: pg.PoolClient): Promise<RelayPlace> {
    this.isReconnected = false;
    this.manager ??= await jetstreamManager(this.options.nats, { timeout: this.timeoutMs });
    const place = await resumeRelay({
      client,
      manager: this.manager,
      name: this.options.name ?? 'main',
      config: eventStreamConfig(this.options),
      retainedDays: this.options.retainedDays,
    });
    this.counts.resumed += 1;
    if (place.isRecreated) {
      this.counts.recreated += 1;
      this.options.nats.publish(RECREATED_SUBJECT, place.stream);
    }
    return place;
  }

  /** Publishes until a publish is refused or the stream moved: then the place is found anew. */
  private async relayFrom(client: pg.PoolClient, place: RelayPlace): Promise<void> {
    const { batchEventsMax = BATCH_EVENTS_MAX, sweepMs = SWEEP_MS } = this.options;
    let { cursor, sequence } = place;
    let checkedAtMs = Date.now();
    let lateMs = 0;
    while (!this.isStopped && !this.isReconnected) {
      const events = await readFeed(client, cursor, batchEventsMax);
      const last = events.at(-1);
      if (!last) {
        lateMs = (await isHeldBack(client, cursor)) ? heldBackMs(lateMs) : 0;
        await this.sleeper.sleep(lateMs === 0 ? sweepMs : Math.min(lateMs, sweepMs));
        if (Date.now() - checkedAtMs < (this.options.checkMs ?? CHECK_MS)) continue;
        checkedAtMs = Date.now();
        if (!(await this.isAt(place, sequence))) return;
        continue;
      }
      lateMs = 0;
      await this.options.beforePublish?.();
      if (!(await this.publish(events, sequence))) return;
      cursor = last.position;
      sequence += events.length;
      this.counts.published += events.length;
      await this.save(client, { ...place, cursor, sequence });
    }
  }

  private async publish(events: RecordedEvent[], sequence: number): Promise<boolean> {
    const published = await Promise.allSettled(
      events.map((event, i) => {
        const { headers, body } = encodeEvent(event);
        return this.js.publish(eventSubject(event), body, {
          msgID: event.id,
          headers,
          expect: { lastSequence: sequence + i },
          timeout: this.timeoutMs,
        });
      }),
    );
    return published.every(
      (result, i) =>
        result.status === 'fulfilled' &&
        !result.value.duplicate &&
        result.value.seq === sequence + i + 1,
    );
  }

  private save(client: pg.PoolClient, place: RelayPlace): Promise<void> {
    return saveRelay(client, this.options.name ?? 'main', place);
  }

  private async isAt(place: RelayPlace, sequence: number): Promise<boolean> {
    if (!this.manager) return false;
    const found = await findStream(this.manager, place.stream);
    return found?.created === place.created && found.state.last_seq === sequence;
  }
}
