import { HangarError } from '@hangar/contracts';
import { parseStream, type Aggregate } from '../event.ts';

/** The one JetStream stream. */
export const EVENT_STREAM = 'HANGAR_EVENTS';
export const EVENT_SUBJECTS = 'hangar.evt.>';
/** Core subject on which the relay says that it made the JetStream stream anew. */
export const RECREATED_SUBJECT = 'hangar.recreated';

/** `hangar.evt.<aggregate>.<id>.<Event>`. */
export function eventSubject(event: { stream: string; type: string }): string {
  const { aggregate, id } = parseStream(event.stream);
  return `hangar.evt.${aggregate}.${id}.${event.type}`;
}

/** Subjects of everything, of one aggregate, or of one id of it. */
export function eventSubjects(aggregate?: Aggregate, id?: string): string {
  return ['hangar.evt', aggregate, id, '>'].filter((part) => part !== undefined).join('.');
}

/**
 * Consumers follow versions of whole streams, so a filter by event type would make every other
 * event a gap. One wildcard subject also is all that nats-server 2.9 can filter by.
 */
export function checkFilter(subject: string): void {
  if (/^hangar\.evt\.([a-z]+\.([A-Za-z0-9_-]+\.)?)?>$/.test(subject)) return;
  throw new HangarError('internal', `"${subject}" does not select whole streams`, {
    hint: 'Use eventSubjects(aggregate, id) and ignore the types you do not use.',
  });
}

export const commandSubject = (aggregate: string, command: string): string =>
  `hangar.command.${aggregate}.${command}`;
