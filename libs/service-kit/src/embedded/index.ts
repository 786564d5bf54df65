export { leash, type Leashed, type LeashOptions } from './leash.ts';
export { startNats, type EmbeddedNats, type NatsOptions } from './nats.ts';
export { startPostgres, type EmbeddedPostgres, type PostgresOptions } from './postgres.ts';
export { choosePort } from './port.ts';
