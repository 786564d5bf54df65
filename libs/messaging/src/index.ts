export { onHanded, tellHanded } from './handed-notice.ts';
export {
  ACTIVITY_TABLE,
  activitySubject,
  createActivityLog,
  type ActivityEntry,
  type ActivityLog,
  type ActivityPlace,
} from './activity-log.ts';
export { APPEND_EVENTS_MAX, EVENT_BYTES_MAX, type Validate } from './append-request.ts';
export {
  createCommandClient,
  type CommandClient,
  type CommandClientOptions,
} from './command-client.ts';
export {
  handleCommand,
  hashBody,
  type CommandOutcome,
  type Decision,
  type HandleCommandOptions,
} from './command-handler.ts';
export {
  createCommandServer,
  type CommandServer,
  type CommandServerOptions,
} from './command-server.ts';
export type { CommandHeaders } from './command-wire.ts';
export { createConsumer, type Consumer, type ConsumerOptions } from './consumer.ts';
export {
  createEffectRunner,
  type EffectRunner,
  type EffectRunnerOptions,
  type LeasedEffect,
} from './effects.ts';
export {
  AGGREGATES,
  compareCursors,
  newEventId,
  parseStream,
  START,
  streamName,
  type Aggregate,
  type Cursor,
  type EventMeta,
  type FoldEvent,
  type NewEvent,
  type RecordedEvent,
} from './event.ts';
export {
  PAGE_EVENTS_MAX,
  PROBLEMS_MAX,
  SNAPSHOT_TAIL_EVENTS,
  type AppendOptions,
  type AppendResult,
  type ChainProblem,
  type CommandRecord,
  type EventStore,
  type Fold,
  type NewEffect,
  type TimerChange,
} from './event-store.ts';
export type { ReadStream } from './inbox-handler.ts';
export type { Json, JsonObject } from './json.ts';
export { parkedError, type ParkedEvent } from './parked-events.ts';
export { createProjector, type Projector, type ProjectorOptions } from './projector.ts';
export { createRelay, type Relay, type RelayOptions } from './relay.ts';
export {
  createTimerRunner,
  type DueTimer,
  type TimerRunner,
  type TimerRunnerOptions,
} from './timers.ts';
export type { QueryAnswer, Statement, Transaction } from './transaction.ts';
export { createUpcast, type EventShape, type Upcast } from './upcast.ts';
export { createLocalWake, type Wake, type WakeTopic } from './wake.ts';
export {
  causedBy,
  createAggregate,
  metaOfEffect,
  type AggregateHandler,
  type AggregateOptions,
  type Executed,
} from './aggregate.ts';
export { connectLog, makeTable, type LogAddress, type LogConnection } from './connect.ts';
export { ACTIVE_SECONDS, createPresence, type Presence } from './presence.ts';
