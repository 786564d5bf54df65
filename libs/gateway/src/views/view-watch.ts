import { HangarError } from '@hangar/contracts';
import type { Projector } from '@hangar/messaging';
import type { Signal } from '../live/signal.ts';

/** So long an answer waits for the read models after a command: people read own writes. */
export const CATCH_UP_MS_MAX = 2000;
/** Requests with ?wait that are held open at once in one process. */
export const WAITS_MAX = 1000;
/** Requests that ask the projector at once; while it stands still they would pile up. */
const CATCH_UPS_MAX = 2000;
/** A lost wake costs at most this. */
const SWEEP_MS = 1000;

/** Lets requests wait for what the read models will show; woken by commits, not by a clock. */
export class ViewWatch {
  readonly #projector: Pick<Projector, 'caughtUp'>;
  readonly #signal: Signal;
  #waits = 0;
  #catchUps = 0;

  constructor(projector: Pick<Projector, 'caughtUp'>, signal: Signal) {
    this.#projector = projector;
    this.#signal = signal;
  }

  /** True when everything committed before the call can be read; false when the time ran out. */
  async caughtUp(withinMs = CATCH_UP_MS_MAX): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), withinMs);
    });
    const result = await Promise.race([this.#reached(), late]);
    clearTimeout(timer);
    return result;
  }

  #reached(): Promise<boolean> {
    if (this.#catchUps >= CATCH_UPS_MAX) return new Promise(() => undefined);
    this.#catchUps += 1;
    return this.#projector.caughtUp().then(() => {
      this.#catchUps -= 1;
      return true;
    });
  }

  /**
   * The first thing other than null that `look` gives, or null when `seconds` have passed or the
   * client has gone. Throws `exhausted` when too many wait already.
   */
  async until<T>(
    look: () => Promise<T | null>,
    options: { seconds: number; gone: AbortSignal },
  ): Promise<T | null> {
    if (this.#waits >= WAITS_MAX) {
      throw new HangarError('exhausted', `${WAITS_MAX} requests wait already; this one was done`, {
        hint: 'The call itself took effect. Follow the events, or ask for the state later.',
      });
    }
    this.#waits += 1;
    try {
      return await this.#until(look, options);
    } finally {
      this.#waits -= 1;
    }
  }

  async #until<T>(
    look: () => Promise<T | null>,
    { seconds, gone }: { seconds: number; gone: AbortSignal },
  ): Promise<T | null> {
    const end = performance.now() + seconds * 1000;
    const left = (): number => Math.max(0, end - performance.now());
    for (;;) {
      const { mark } = this.#signal;
      await this.caughtUp(Math.min(left(), CATCH_UP_MS_MAX));
      const found = await look();
      if (found !== null || left() === 0 || gone.aborted) return found;
      await this.#signal.next(mark, Math.min(left(), SWEEP_MS), gone);
    }
  }
}
