export { createPostgresEventStore, type PostgresEventStoreOptions } from './event-store.ts';
export { migrateEventLog } from './migrate.ts';
export { pruneEventLog } from './prune.ts';
export { inTransaction, isTransientDatabaseError } from './transaction.ts';
