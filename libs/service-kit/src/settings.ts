import {
  blobStore,
  directory,
  integer,
  minutes,
  oneOf,
  program,
  text,
  url,
  urlList,
  vaultKeys,
  type SettingKind,
} from './setting-kinds.ts';

/** A setting: one environment variable. What a person reads of it comes from here alone. */
export interface Setting<T = unknown> {
  name: `HANGAR_${string}`;
  kind: SettingKind<T>;
  /** As one would write it; `${NAME}` stands for the value of a setting above. None = not set. */
  fallback: string | null;
  unit: string | null;
  /** Never shown, not even when it is wrong. */
  secret: boolean;
  does: string;
}

type Required<T> = Setting<T> & { fallback: string };
type Optional<T> = Setting<T> & { fallback: null };

function withDefault<T>(
  name: Setting['name'],
  kind: SettingKind<T>,
  fallback: string,
  unit: string | null,
  does: string,
): Required<T> {
  return { name, kind, fallback, unit, secret: false, does };
}

function optional<T>(name: Setting['name'], kind: SettingKind<T>, does: string): Optional<T> {
  return { name, kind, fallback: null, unit: null, secret: false, does };
}

function secret<T>(name: Setting['name'], kind: SettingKind<T>, does: string): Optional<T> {
  return { ...optional(name, kind, does), secret: true };
}

/** Every setting of every service ([O4]); the order is that of `hangar doctor` and the documents. */
export const SETTINGS = {
  state: withDefault(
    'HANGAR_STATE',
    directory,
    '.hangar',
    null,
    'Directory of everything that one machine keeps: Postgres, NATS, blobs, sandboxes.',
  ),
  port: withDefault(
    'HANGAR_PORT',
    integer(0, 65_535),
    '7700',
    null,
    'Port of the HTTP API; 0 takes a free one.',
  ),
  host: withDefault(
    'HANGAR_HOST',
    text(1, 255),
    '127.0.0.1',
    null,
    'Address that HTTP listens on; 0.0.0.0 in a container.',
  ),
  token: secret(
    'HANGAR_TOKEN',
    text(16, 512),
    'Access token with the scope admin that needs no row in the database.',
  ),
  databaseUrl: secret(
    'HANGAR_DATABASE_URL',
    url('postgres', 'postgresql'),
    'Postgres that holds the log, the read models, secrets and access tokens.',
  ),
  natsUrl: optional(
    'HANGAR_NATS_URL',
    urlList('nats', 'tls', 'ws', 'wss'),
    'NATS servers with JetStream.',
  ),
  natsUser: optional('HANGAR_NATS_USER', text(1, 256), 'User at the NATS servers.'),
  natsPassword: secret('HANGAR_NATS_PASSWORD', text(1, 256), 'Password of the NATS user.'),
  sandboxIoUrl: optional(
    'HANGAR_SANDBOX_IO_URL',
    url('http', 'https'),
    'Where the other services reach the byte streams of the sandboxes service.',
  ),
  serviceToken: secret(
    'HANGAR_SERVICE_TOKEN',
    text(16, 512),
    'What services show each other on the byte streams.',
  ),
  vaultKeys: secret(
    'HANGAR_VAULT_KEY',
    vaultKeys,
    'Keys that seal secrets and the data keys of checkpoints, newest first.',
  ),
  credentialCommand: optional(
    'HANGAR_CREDENTIAL_COMMAND',
    program,
    'Answers for secrets that an owner has not set (docs/guides/credentials.md).',
  ),
  blobStore: withDefault(
    'HANGAR_BLOB_STORE',
    blobStore,
    'fs:${HANGAR_STATE}/blobs',
    null,
    'Where the parts of checkpoints are kept.',
  ),
  driver: withDefault(
    'HANGAR_DRIVER',
    oneOf('local', 'fake'),
    'local',
    null,
    'What sandboxes are made of.',
  ),
  localIsolation: withDefault(
    'HANGAR_LOCAL_ISOLATION',
    oneOf('auto', 'none'),
    'auto',
    null,
    'auto uses bubblewrap where it works; none runs plain processes, which is not safe.',
  ),
  sessionCheckpointMinutes: withDefault(
    'HANGAR_SESSION_CHECKPOINT_MINUTES',
    minutes(1),
    '10',
    'minutes',
    'How often a checkpoint is taken while something changes.',
  ),
  sessionKeepCheckpoints: withDefault(
    'HANGAR_SESSION_KEEP_CHECKPOINTS',
    integer(1, 1_000),
    '5',
    'checkpoints',
    'How many of the newest checkpoints of a session are kept.',
  ),
  sessionMaxPartMb: withDefault(
    'HANGAR_SESSION_MAX_PART_MB',
    integer(1, 100_000),
    '100',
    'megabytes',
    'Largest part of a checkpoint.',
  ),
  sessionMaxUntrackedMb: withDefault(
    'HANGAR_SESSION_MAX_UNTRACKED_MB',
    integer(0, 100_000),
    '50',
    'megabytes',
    'Largest part of untracked files in a checkpoint.',
  ),
  startDeadlineMinutes: withDefault(
    'HANGAR_START_DEADLINE_MINUTES',
    minutes(1),
    '15',
    'minutes',
    'How long a sandbox may take to start before the session fails.',
  ),
  turnMinutes: withDefault(
    'HANGAR_TURN_MINUTES',
    minutes(1),
    '60',
    'minutes',
    'How long a turn may take before it is timed out.',
  ),
  sandboxTtlMinutes: withDefault(
    'HANGAR_SANDBOX_TTL_MINUTES',
    minutes(1),
    '480',
    'minutes',
    'How long a sandbox lives unless its session extends it.',
  ),
  maxActiveSessions: withDefault(
    'HANGAR_MAX_ACTIVE_SESSIONS',
    integer(1, 100_000),
    '20',
    'sessions',
    'How many sessions have a sandbox at the same time.',
  ),
  webhookPrivate: withDefault(
    'HANGAR_WEBHOOK_PRIVATE',
    oneOf('false', 'true'),
    'false',
    null,
    'Whether webhooks may be sent to loopback and private addresses, which the server reaches and their owners may not.',
  ),
  logLevel: withDefault(
    'HANGAR_LOG_LEVEL',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    null,
    'The least important lines that are logged.',
  ),
} as const;

/**
 * Names that are no setting of a service but may well be around it: of the client, and of the
 * processes inside a sandbox, for hangar is developed in hangar as well.
 */
export const FOREIGN_NAMES: ReadonlySet<string> = new Set([
  'HANGAR_URL',
  'HANGAR_SESSION',
  'HANGAR_SANDBOX',
  'HANGAR_CREDENTIALS',
  'HANGAR_RUN',
  'HANGAR_TURN',
]);
/** Switches of the tests, read by their runner. */
export const FOREIGN_PREFIX = 'HANGAR_TEST_';
