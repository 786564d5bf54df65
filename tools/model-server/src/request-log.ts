/** What the server was asked, bounded, and a way to wait for the next request without sleeping. */
import type { Api } from './conversation.ts';

export interface LoggedRequest {
  /** Counts from 1 in the server's life. */
  number: number;
  api: Api | 'other';
  method: string;
  path: string;
  key: string;
  model: string;
  stream: boolean;
  /** How many tools the harness offered: 0 for its own side requests. */
  tools: number;
  roles: string[];
  userTexts: string[];
  assistantTexts: string[];
  toolResults: string[];
  /** Index of the scripted step that answered; -1 for the default sentence. */
  step: number;
  /** HTTP status of the answer; 0 while it is held, and when the connection was destroyed. */
  status: number;
  /** The client left before the answer was whole. */
  clientLeft: boolean;
}

/** Newest requests kept. */
export const REQUESTS_KEPT_MAX = 500;
/** Characters kept of one text. */
export const TEXT_CHARACTERS_MAX = 4_000;
/** Newest texts kept of each kind in one request. */
export const TEXTS_KEPT_MAX = 50;

export function keptTexts(texts: string[]): string[] {
  return texts.slice(-TEXTS_KEPT_MAX).map((text) => text.slice(0, TEXT_CHARACTERS_MAX));
}

export class RequestLog {
  readonly #requests: LoggedRequest[] = [];
  readonly #waiting = new Set<() => void>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  nextNumber(): number {
    return ++this.#count;
  }

  add(request: LoggedRequest): void {
    this.#requests.push(request);
    if (this.#requests.length > REQUESTS_KEPT_MAX) this.#requests.shift();
    this.changed();
  }

  /** Called when something a waiter may look for has changed. */
  changed(): void {
    for (const check of this.#waiting) check();
  }

  list(): LoggedRequest[] {
    return [...this.#requests];
  }

  clear(): void {
    this.#requests.length = 0;
  }

  /** Resolves with true when `isMet` holds, with false after the time-out. */
  until(isMet: () => boolean, timeoutMilliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (met: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(met);
      };
      const check = (): void => {
        if (isMet()) finish(true);
      };
      const timer = setTimeout(() => finish(false), timeoutMilliseconds);
      this.#waiting.add(check);
      check();
    });
  }
}
