import { HangarError } from '@hangar/contracts';
import { onHanded } from '@hangar/messaging';
import { createRedactor, type KnownSecret, type Redactor } from '@hangar/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';

/** What the bus lost is read within this. */
const LOOK_MS = 5_000;

export interface RunRedactor {
  readonly redact: Redactor;
  end(): void;
}

/**
 * Hides a run's secrets [Z2]: those it was started with, and what processes of its sandbox were
 * given meanwhile. A value is known here before it is in the sandbox.
 */
export async function createRunRedactor(options: {
  nats: NatsConnection;
  sandboxId: string;
  secrets: readonly KnownSecret[];
  handed(sandboxId: string): Promise<KnownSecret[]>;
}): Promise<RunRedactor> {
  const { nats, sandboxId, secrets, handed } = options;
  let redact = createRedactor(secrets);
  let known = '';
  const read = async (): Promise<void> => {
    const newest = await handed(sandboxId);
    const key = `${newest.length} ${newest[0]?.value ?? ''}`;
    if (key === known) return;
    known = key;
    redact = redactorOf(secrets, newest);
  };
  const heard = onHanded(nats, sandboxId, read);
  const sweep = setInterval(() => void read().catch(() => undefined), LOOK_MS);
  const end = (): void => {
    heard.end();
    clearInterval(sweep);
  };
  try {
    await read();
  } catch (error) {
    end();
    throw error;
  }
  const newest = Object.assign((text: string) => redact(text), {
    safeCut: (text: string) => redact.safeCut(text),
  });
  return { redact: newest, end };
}

/** With as many of the newest as can be looked for at once. */
function redactorOf(secrets: readonly KnownSecret[], newest: readonly KnownSecret[]): Redactor {
  try {
    return createRedactor([...secrets, ...newest]);
  } catch (error) {
    if (!(error instanceof HangarError) || error.code !== 'exhausted') throw error;
    return redactorOf(secrets, newest.slice(0, Math.floor(newest.length / 2)));
  }
}
