export { decodeEvent, encodeEvent, HEADER } from './envelope.ts';
export {
  commandSubject,
  EVENT_STREAM,
  EVENT_SUBJECTS,
  eventSubject,
  eventSubjects,
} from './subjects.ts';
export { createNatsWake } from './wake.ts';
