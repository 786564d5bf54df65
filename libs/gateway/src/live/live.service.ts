import { EVENT_STREAMS_MAX, HangarError } from '@hangar/contracts';
import type { EventStore } from '@hangar/messaging';
import type { Response } from 'express';
import type { Caller } from '../auth/caller.ts';
import type { SessionReader } from '../sessions/session.reader.ts';
import {
  decodeFeed,
  decodeVersion,
  ownerEvents,
  sessionEvents,
  type EventSource,
} from './event-source.ts';
import type { EventOwners } from './event.document.ts';
import type { Signal } from './signal.ts';

/** Silence longer than this is taken for a dead connection by clients and proxies. */
export const HEARTBEAT_MS = 15_000;
/** A client that takes nothing for this long is let go; it comes back with its last id. */
export const SLOW_CLIENT_MS_MAX = 30_000;
/** How long a client waits before it comes back, as it is told. */
const RECONNECT_MS = 1000;
const SWEEP_MS = 1000;
/** Soon after a commit the feed may still wait for an older transaction: it is looked at again. */
const LOOK_AGAIN_MS = [10, 30, 90, 270];

export interface LiveParts {
  store: Pick<EventStore, 'readStream' | 'feed' | 'head'>;
  owners: EventOwners;
  reader: SessionReader;
  signal: Signal;
  /** Resolves when what was committed can be read, or does not come in time. */
  caughtUp: () => Promise<unknown>;
  heartbeatMs?: number;
  slowClientMsMax?: number;
}

/** Server-sent events straight from the log [U2]: by cursor, so without a gap or a repeat. */
export class LiveService {
  readonly #parts: LiveParts;
  readonly #closing = new AbortController();
  #streams = 0;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  /** Ends every stream; clients come back to another replica with their last id. */
  close(): void {
    this.#closing.abort();
  }

  async session(
    caller: Caller,
    ref: string,
    lastId: string | undefined,
    response: Response,
  ): Promise<void> {
    const { reader, store } = this.#parts;
    const session = await reader.find(caller.owner, ref);
    const after = lastId === undefined ? session.version : decodeVersion(lastId);
    const source = this.#shown(sessionEvents(store, session, after));
    await this.serve(caller, source, this.#parts.signal, response);
  }

  async all(caller: Caller, lastId: string | undefined, response: Response): Promise<void> {
    const { store, owners } = this.#parts;
    const after = lastId === undefined ? await store.head() : decodeFeed(lastId);
    const source = this.#shown(ownerEvents(store, owners, caller.owner, after));
    await this.serve(caller, source, this.#parts.signal, response);
  }

  /** Who hears of an event and asks for what it changed gets it so: the read models have it by then. */
  #shown(source: EventSource): EventSource {
    return {
      read: async () => {
        const page = await source.read();
        if (page.events.length > 0) await this.#parts.caughtUp();
        return page;
      },
    };
  }

  /** Streams what a source has, as long as the client takes it; `signal` says that there is more. */
  async serve(
    caller: Caller,
    source: EventSource,
    signal: Signal,
    response: Response,
  ): Promise<void> {
    if (this.#streams >= EVENT_STREAMS_MAX) {
      throw new HangarError(
        'exhausted',
        `${EVENT_STREAMS_MAX} streams of events are open already.`,
        {
          hint: 'Close some, or follow everything with one: GET /api/events.',
        },
      );
    }
    this.#streams += 1;
    const stop = AbortSignal.any([this.#closing.signal, caller.gone]);
    try {
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
      });
      response.write(`retry: ${RECONNECT_MS}\n\n`);
      // HEAD asks what this is, and nobody would take what follows.
      if (response.req.method !== 'HEAD')
        await this.#follow(caller, { source, signal }, response, stop);
      response.end();
    } catch {
      // The answer has begun: it can only be cut, and the client goes on from its last id.
      response.destroy();
    } finally {
      this.#streams -= 1;
    }
  }

  async #follow(
    caller: Caller,
    { source, signal }: { source: EventSource; signal: Signal },
    response: Response,
    stop: AbortSignal,
  ): Promise<void> {
    const { heartbeatMs = HEARTBEAT_MS } = this.#parts;
    let spokenAt = performance.now();
    let told = '';
    let looks = 0;
    while (!stop.aborted) {
      const { mark } = signal;
      const page = await source.read();
      for (const event of page.events) {
        if (!(await this.#write(response, event.text, stop))) return;
      }
      if (page.events.length > 0) {
        told = page.events.findLast(({ cursor }) => cursor !== null)?.cursor ?? told;
        spokenAt = performance.now();
        looks = 0;
      }
      if (page.more) continue;
      const silence = performance.now() - spokenAt;
      if (silence >= heartbeatMs) {
        if (!(await caller.stillAllowed())) return;
        // An id without an event: who comes back need not read again what was not for them.
        const text = page.reached === told ? ': still here\n\n' : `id: ${page.reached}\n\n`;
        if (!(await this.#write(response, text, stop))) return;
        told = page.reached;
        spokenAt = performance.now();
        continue;
      }
      const pauseMs = Math.min(LOOK_AGAIN_MS[looks] ?? SWEEP_MS, heartbeatMs - silence);
      looks += 1;
      await signal.next(mark, pauseMs, stop);
      if (signal.mark !== mark) looks = 0;
    }
  }

  /** False when the client has gone, or takes nothing any more: nothing piles up for it here. */
  async #write(response: Response, text: string, stop: AbortSignal): Promise<boolean> {
    if (stop.aborted) return false;
    if (response.write(text)) return true;
    return new Promise((resolve) => {
      const end = (isDrained: boolean): void => {
        clearTimeout(timer);
        response.off('drain', drained);
        stop.removeEventListener('abort', stopped);
        resolve(isDrained);
      };
      const drained = (): void => end(true);
      const stopped = (): void => end(false);
      const timer = setTimeout(() => {
        response.destroy();
        end(false);
      }, this.#parts.slowClientMsMax ?? SLOW_CLIENT_MS_MAX);
      response.once('drain', drained);
      stop.addEventListener('abort', stopped, { once: true });
    });
  }
}
