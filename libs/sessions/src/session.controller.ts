import { HangarError } from '@hangar/contracts';
import {
  createCommandServer,
  type CommandServer,
  type EventMeta,
  type Json,
} from '@hangar/messaging';
import type { NatsConnection } from '@nats-io/nats-core';
import {
  ASKED_BY_PEOPLE,
  type SessionCommand,
  type SessionCommandName,
} from './session.commands.ts';
import type { Sessions } from './session.service.ts';

interface Body {
  id: string;
  data: object;
  meta: EventMeta;
}

/** Command subjects in, answers and typed refusals out. */
export function createSessionController(options: {
  nats: NatsConnection;
  sessions: Sessions;
  now(): Date;
  onError(error: unknown): void;
}): CommandServer {
  const { nats, sessions, now, onError } = options;
  const handle =
    (type: SessionCommandName) =>
    async (json: Json): Promise<Json> => {
      const { id, data, meta } = json as unknown as Body;
      const command = { type, data, now: now().toISOString() } as SessionCommand;
      const { version, events } = await sessions.execute(id, command, { meta });
      return { version, events };
    };
  return createCommandServer({
    nats,
    aggregate: 'session',
    handlers: Object.fromEntries(ASKED_BY_PEOPLE.map((name) => [name, handle(name)])),
    onError: (error) => onError(HangarError.from(error)),
  });
}
