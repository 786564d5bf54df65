import type { NatsConnection } from '@nats-io/nats-core';

/** How long a credential waits for the run to know of it; past that it is handed out all the same. */
const KNOWN_MS = 1_000;

/** Core NATS subject on which a sandbox's run hears that a new credential goes into the sandbox. */
const handedSubject = (sandboxId: string): string => `hangar.handed.${sandboxId}`;

/**
 * Waits until the run that works in the sandbox, if any, has read what is about to be handed out:
 * so nothing can be told before it can be hidden [Z2]. The value itself is not in the message.
 */
export async function tellHanded(nats: NatsConnection, sandboxId: string): Promise<void> {
  // Nobody there, a slow reader, no bus: who asked for a credential still needs it.
  await nats.request(handedSubject(sandboxId), '', { timeout: KNOWN_MS }).catch(() => undefined);
}

/** `read` is done before the credential is handed out. */
export function onHanded(
  nats: NatsConnection,
  sandboxId: string,
  read: () => Promise<void>,
): { end(): void } {
  const subscription = nats.subscribe(handedSubject(sandboxId), {
    callback: (_error, message) => {
      void read().then(
        () => message.respond(),
        () => undefined,
      );
    },
  });
  return {
    end: () => {
      if (!nats.isClosed()) subscription.unsubscribe();
    },
  };
}
