import {
  jetstream,
  jetstreamManager,
  JetStreamApiCodes,
  type ConsumerMessages,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/nats-core';
import type pg from 'pg';
import { ACK_PENDING_MAX, ACK_WAIT_MS, ensureDurable, isDurableStuck } from './durable.ts';
import type { RecordedEvent } from './event.ts';
import {
  bringTo,
  type Handled,
  type InboxHandlerOptions,
  type ReadStream,
} from './inbox-handler.ts';
import { decodeEvent } from './jetstream/envelope.ts';
import { findStream, isApiError } from './jetstream/event-stream.ts';
import { checkFilter, EVENT_STREAM, RECREATED_SUBJECT } from './jetstream/subjects.ts';
import { listParked, retryParked, skipParked, type ParkedEvent } from './parked-events.ts';
import { createSleeper } from './sleeper.ts';
import { createSlots, type Slots } from './slots.ts';
import { streamsBehind } from './streams-behind.ts';
import type { Transaction } from './transaction.ts';
import type { Upcast } from './upcast.ts';

export interface ConsumerOptions {
  /** Durable name and inbox name: `<lib>-policy-<aggregate>` or `<lib>-worker`. */
  name: string;
  pool: pg.Pool;
  nats: NatsConnection;
  /** Made by `eventSubjects(aggregate, id)`: whole streams, never single types. */
  filter: string;
  /**
   * Applied once per event, in the order of each stream; streams run side by side. What it does
   * through `tx` commits with the inbox mark. A HangarError `invalid` parks the event at once,
   * any other error is retried, then parked.
   */
  handle(event: RecordedEvent, tx: Transaction): Promise<void>;
  /** From the event store of this service. */
  readStream: ReadStream;
  upcast?: Upcast;
  stream?: string;
  /** Streams worked on at once, which is also the connections used, at most. */
  concurrency?: number;
  attemptsMax?: number;
  retryMs?(attempts: number): number;
  ackWaitMs?: number;
  watchdogMs?: number;
  onError?(error: unknown): void;
  onParked?(event: RecordedEvent, error: unknown): void;
}

export interface Consumer {
  start(): void;
  /** Finishes what is being handled, then returns. */
  stop(): Promise<void>;
  counts(): { handled: number; again: number; gapsFilled: number; parked: number; made: number };
  readonly parked: {
    list(): Promise<ParkedEvent[]>;
    /** Returns how many were handled; throws the error of the one that failed again. */
    retry(stream: string): Promise<number>;
    skip(stream: string, version: number): Promise<void>;
  };
}

const CONCURRENCY = 4;
const ATTEMPTS_MAX = 8;
const RETRY_MS_MIN = 200;
const RETRY_MS_MAX = 30_000;
const WATCHDOG_MS = 30_000;
const FAILURE_PAUSE_MS = 250;
const PULL_MESSAGES_MAX = 100;
const PULL_EXPIRES_MS = 5000;
const HEARTBEAT_MS = 1000;

const defaultRetryMs = (attempts: number): number =>
  Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (attempts - 1));

/**
 * Delivers the log to one handler. All replicas share one durable; the inbox row of each stream
 * makes order and exactly-once effects, so a message only says "stream S is at version N now".
 */
export function createConsumer(options: ConsumerOptions): Consumer {
  checkFilter(options.filter);
  const consumer = new LogConsumer(options);
  const { pool, name, handle, readStream } = options;
  return {
    start: () => consumer.start(),
    stop: () => consumer.stop(),
    counts: () => ({ ...consumer.counts }),
    parked: {
      list: () => listParked(pool, name),
      retry: (stream) => retryParked({ pool, consumer: name, stream, handle, readStream }),
      skip: (stream, version) => skipParked(pool, name, stream, version),
    },
  };
}

class LogConsumer {
  readonly counts = { handled: 0, again: 0, gapsFilled: 0, parked: 0, made: 0 };
  private readonly options: ConsumerOptions;
  private readonly inbox: InboxHandlerOptions;
  private readonly sleeper = createSleeper();
  private readonly slots: Slots;
  private readonly chains = new Map<string, Promise<void>>();
  private readonly retries = new Set<NodeJS.Timeout>();
  private messages: ConsumerMessages | undefined;
  private running: Promise<void> | undefined;
  private isStopped = false;

  constructor(options: ConsumerOptions) {
    this.options = options;
    this.slots = createSlots(options.concurrency ?? CONCURRENCY);
    this.inbox = {
      consumer: options.name,
      pool: options.pool,
      readStream: options.readStream,
      handle: async (event, tx) => {
        await options.handle(options.upcast?.(event) ?? event, tx);
        tx.onCommit(() => (this.counts.handled += 1));
      },
      attemptsMax: options.attemptsMax ?? ATTEMPTS_MAX,
      retryMs: (attempts) => (options.retryMs ?? defaultRetryMs)(attempts),
      onGapFilled: () => (this.counts.gapsFilled += 1),
      onParked: (event, error) => {
        this.counts.parked += 1;
        options.onParked?.(event, error);
      },
    };
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.sleeper.wake();
    this.messages?.stop();
    await this.running;
    for (const timer of this.retries) clearTimeout(timer);
    await Promise.all(this.chains.values());
  }

  private async run(): Promise<void> {
    const notices = this.subscribeToNotices();
    // A connection that is closed for good ends the loop; one that is lost comes back.
    while (!this.isStopped && !this.options.nats.isClosed()) {
      try {
        await this.consume();
      } catch (error) {
        if (!this.isStopped) this.options.onError?.(error);
      }
      await this.sleeper.sleep(this.isStopped ? 0 : FAILURE_PAUSE_MS);
    }
    if (!this.options.nats.isClosed()) notices.unsubscribe();
  }

  private subscribeToNotices(): Subscription {
    return this.options.nats.subscribe(RECREATED_SUBJECT, {
      callback: () => {
        this.messages?.stop();
        this.sleeper.wake();
      },
    });
  }

  /** One life of the durable: ends when it is lost, stopped or found to be stuck. */
  private async consume(): Promise<void> {
    const manager = await jetstreamManager(this.options.nats);
    const stream = this.options.stream ?? EVENT_STREAM;
    // Before the relay's first turn there is nothing to consume; its notice ends the pause.
    if (!(await findStream(manager, stream))) return;
    await ensureDurable(manager, stream, this.options);
    this.counts.made += 1;
    const found = await jetstream(this.options.nats).consumers.get(stream, this.options.name);
    const messages = await found.consume({
      max_messages: PULL_MESSAGES_MAX,
      expires: PULL_EXPIRES_MS,
      idle_heartbeat: HEARTBEAT_MS,
      abort_on_missing_resource: true,
    });
    this.messages = messages;
    if (this.isStopped) messages.stop();
    const watchdog = setInterval(
      () => void this.watch(manager, messages),
      this.options.watchdogMs ?? WATCHDOG_MS,
    );
    try {
      await this.catchUp();
      for await (const message of messages) {
        this.accept(message);
        // Bounds what is held in memory; the server keeps the rest.
        while (this.chains.size >= ACK_PENDING_MAX) await Promise.race(this.chains.values());
      }
    } finally {
      clearInterval(watchdog);
      messages.stop();
    }
  }

  /** Streams of the log that are ahead of the inbox, whatever the bus still holds of them. */
  private async catchUp(): Promise<void> {
    const { pool, name, filter } = this.options;
    for await (const behind of streamsBehind(pool, name, filter)) {
      if (this.isStopped) return;
      this.bringLater(behind.stream, behind.version, 0);
      while (this.chains.size >= ACK_PENDING_MAX) await Promise.race(this.chains.values());
    }
  }

  /** Like a message that is delivered again, for a version that the bus may not have. */
  private bringLater(stream: string, version: number, afterMs: number): void {
    const timer = setTimeout(() => {
      this.retries.delete(timer);
      void this.enqueue(stream, async () => {
        const handled = await bringTo(this.inbox, stream, version);
        if (handled.kind === 'done' || this.isStopped) return;
        if (handled.error) this.options.onError?.(handled.error);
        this.bringLater(stream, version, Math.max(RETRY_MS_MIN, handled.afterMs));
      });
    }, afterMs);
    this.retries.add(timer);
  }

  private accept(message: JsMsg): void {
    let event: RecordedEvent;
    try {
      event = decodeEvent({ headers: message.headers, string: () => message.string() });
    } catch (error) {
      this.options.onError?.(error);
      message.term();
      return;
    }
    const working = setInterval(
      () => message.working(),
      (this.options.ackWaitMs ?? ACK_WAIT_MS) / 3,
    );
    void this.enqueue(event.stream, async () => {
      try {
        this.answer(message, await bringTo(this.inbox, event.stream, event.version, event));
      } catch (error) {
        this.options.onError?.(error);
        this.answer(message, { kind: 'later', afterMs: this.inbox.retryMs(1) });
      } finally {
        clearInterval(working);
      }
    });
  }

  private answer(message: JsMsg, handled: Handled): void {
    if (this.options.nats.isClosed()) return;
    if (handled.kind === 'done') return message.ack();
    this.counts.again += 1;
    if (handled.error) this.options.onError?.(handled.error);
    message.nak(Math.max(1, Math.ceil(handled.afterMs)));
  }

  /** Work of one stream runs one after the other, that of different streams in free slots. */
  private enqueue(stream: string, work: () => Promise<void>): Promise<void> {
    const before = this.chains.get(stream) ?? Promise.resolve();
    const mine = before
      .then(() => this.slots.run(work))
      .catch((error: unknown) => {
        this.options.onError?.(error);
      });
    const link = mine.finally(() => {
      if (this.chains.get(stream) === link) this.chains.delete(stream);
    });
    this.chains.set(stream, link);
    return link;
  }

  private async watch(manager: JetStreamManager, messages: ConsumerMessages): Promise<void> {
    try {
      const stream = this.options.stream ?? EVENT_STREAM;
      const isStuck = await isDurableStuck(manager, stream, this.options.name);
      if (!isStuck) await manager.consumers.info(stream, this.options.name);
      if (isStuck) messages.stop();
    } catch (error) {
      if (isApiError(error, JetStreamApiCodes.ConsumerNotFound)) messages.stop();
      else if (!this.isStopped) this.options.onError?.(error);
    }
  }
}
