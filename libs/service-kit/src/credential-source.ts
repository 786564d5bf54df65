import { HangarError } from '@hangar/contracts';
import type { CredentialCommand, CredentialQuestion } from './credential-command.ts';
import type { SecretStore } from './secrets.ts';

/** For whom: an owner's session (null: hangar's own copy of a remote) in one environment. */
export interface CredentialAsker {
  owner: string;
  environment: string;
  session: string | null;
}

export type CredentialWish = Pick<CredentialQuestion, 'kind' | 'name' | 'host' | 'path'>;

export interface Credential {
  value: string;
  username?: string;
  expiresAt: Date | null;
}

/** What is left of a credential's life when it is handed out: this much, or a quarter of its life. */
const LEFT_MS = 60_000;
const LEFT_SHARE = 0.25;
/** Credentials with a known end that are kept, in memory. */
const KEPT_MAX = 1024;

/**
 * The newest value of a credential, wherever it comes from: the owner's secret as it is now, so
 * that a rotation is seen at the next ask, else the command of whoever runs hangar. What a command
 * says is kept no longer than it says that it is good for, and never on a disk.
 */
export class CredentialSource {
  readonly #store: Pick<SecretStore, 'reveal'>;
  readonly #command: CredentialCommand | null;
  readonly #now: () => Date;
  readonly #kept = new Map<string, { credential: Credential; until: number }>();
  readonly #asked = new Map<string, Promise<Credential>>();

  constructor(options: {
    store: Pick<SecretStore, 'reveal'>;
    command: CredentialCommand | null;
    now(): Date;
  }) {
    this.#store = options.store;
    this.#command = options.command;
    this.#now = options.now;
  }

  /** Throws `conflict` when it is not set and there is no command, else what the store and the command throw. */
  async get(asker: CredentialAsker, wish: CredentialWish): Promise<Credential> {
    const { values } = await this.#store.reveal(asker.owner, [wish.name]);
    const value = values.get(wish.name);
    if (value !== undefined) return { value, expiresAt: null };
    if (!this.#command) throw notSet([wish.name]);
    return this.#ask(this.#command, { ...asker, ...wish });
  }

  /** The values of several secrets as environment variables; `conflict` names all that are not set. */
  async reveal(asker: CredentialAsker, names: string[]): Promise<Record<string, string>> {
    if (names.length === 0) return {};
    const { values, missing } = await this.#store.reveal(asker.owner, names);
    const command = this.#command;
    if (missing.length > 0 && !command) throw notSet(missing);
    if (command)
      for (const name of missing) {
        const { value } = await this.#ask(command, { ...asker, kind: 'secret', name });
        values.set(name, value);
      }
    return Object.fromEntries(values);
  }

  /** Whoever got this value was refused with it: it is not handed out again. */
  forget(asker: CredentialAsker, wish: CredentialWish, value: string): void {
    const key = keyOf({ ...asker, ...wish });
    if (this.#kept.get(key)?.credential.value === value) this.#kept.delete(key);
  }

  async #ask(command: CredentialCommand, question: CredentialQuestion): Promise<Credential> {
    const key = keyOf(question);
    const kept = this.#kept.get(key);
    if (kept && kept.until > this.#now().getTime()) return kept.credential;
    this.#kept.delete(key);
    // Several that ask at once wait for one answer.
    let asked = this.#asked.get(key);
    if (!asked) {
      asked = command(question).finally(() => this.#asked.delete(key));
      this.#asked.set(key, asked);
      const credential = await asked;
      this.#keep(key, credential);
      return credential;
    }
    return asked;
  }

  #keep(key: string, credential: Credential): void {
    if (!credential.expiresAt) return;
    const now = this.#now().getTime();
    const lifeMs = credential.expiresAt.getTime() - now;
    if (lifeMs <= 0) return;
    const until = now + lifeMs - Math.min(LEFT_MS, lifeMs * LEFT_SHARE);
    this.#kept.set(key, { credential, until });
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest);
  }
}

const keyOf = ({ owner, environment, session, kind, name, host, path }: CredentialQuestion) =>
  JSON.stringify([owner, environment, session, kind, name, host, path]);

/** An empty variable would mislead. */
const notSet = (names: string[]): HangarError =>
  new HangarError(
    'conflict',
    `the environment names secrets that are not set: ${names.join(', ')}`,
    { hint: `set each with: hangar secret set ${names[0]}` },
  );
