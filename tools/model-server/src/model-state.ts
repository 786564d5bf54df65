/** What the model server remembers: requests, queued steps, expired keys, the gate, attempts. */
import { randomBytes } from 'node:crypto';
import { RequestLog } from './request-log.ts';
import { STEPS_MAX, findScript, parseScript, type Step } from './script.ts';

/** Attempts remembered for `error: 529x2`. */
const ATTEMPTS_KEPT_MAX = 1_000;

export class ModelState {
  /** Keeps ids apart when a conversation goes on with another server. */
  readonly prefix = `${randomBytes(4).toString('hex')}x`;
  readonly log = new RequestLog();
  readonly #queued: Step[] = [];
  readonly #expired = new Set<string>();
  readonly #attempts = new Map<string, number>();
  #isHeld = false;

  queue(script: string): void {
    this.#queued.push(...parseScript(findScript(script) ?? script));
    if (this.#queued.length > STEPS_MAX) throw new Error(`at most ${STEPS_MAX} queued steps`);
  }

  takeQueued(): Step | undefined {
    return this.#queued.shift();
  }

  setKey(key: string, isAccepted: boolean): void {
    if (isAccepted) this.#expired.delete(key);
    else this.#expired.add(key);
  }

  isExpired(key: string): boolean {
    return this.#expired.has('*') || this.#expired.has(key);
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.log.changed();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** How often this very reply was asked for, this time included. */
  attempt(key: string): number {
    const attempt = (this.#attempts.get(key) ?? 0) + 1;
    this.#attempts.delete(key);
    this.#attempts.set(key, attempt);
    const oldest = this.#attempts.keys().next().value;
    if (this.#attempts.size > ATTEMPTS_KEPT_MAX && oldest !== undefined) {
      this.#attempts.delete(oldest);
    }
    return attempt;
  }

  reset(): void {
    this.#queued.length = 0;
    this.#expired.clear();
    this.#attempts.clear();
    this.log.clear();
    this.hold(false);
  }
}
