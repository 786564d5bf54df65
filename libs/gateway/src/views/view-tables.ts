/**
 * Goes up with every change of these tables or of a projection: the read models are then made
 * anew from the log, beside those in use.
 */
export const VIEW_FOLD = 3;

/** Where readers look, and where a rebuild writes until it has caught up. */
export const VIEW_SCHEMA = 'view';
export const VIEW_SCHEMA_NEXT = 'view_next';

/** Names of constraints and indexes are given, so that the entities can be compared with them. */
export const viewTablesSql = (schema: string): string =>
  `create schema ${schema};` + sessionTableSql(schema) + partTablesSql(schema);

const sessionTableSql = (schema: string): string => `
create table ${schema}.session_view (
  id text not null,
  name text not null,
  title text not null,
  owner text not null,
  environment text not null,
  harness text not null,
  model text,
  repo text,
  base_branch text,
  branch text not null,
  cwd text not null,
  harness_session text,
  conversation text not null,
  sandbox_id text,
  place jsonb,
  state text not null,
  state_reason text not null,
  start_phase text,
  checkpointing text,
  continuity jsonb,
  idle_minutes integer not null,
  turn_minutes integer not null,
  checkpoints_kept_max integer not null,
  permissions jsonb not null,
  talk jsonb,
  created_at timestamptz not null,
  last_active_at timestamptz not null,
  updated_at timestamptz not null,
  version integer not null,
  constraint session_view_key primary key (id)
);
create index session_view_name on ${schema}.session_view (owner, name);
create index session_view_recent on ${schema}.session_view (owner, created_at, id);
`;

/** Rows that belong to a session, and the environments. */
const partTablesSql = (schema: string): string => `
create table ${schema}.turn_view (
  session_id text not null,
  number integer not null,
  run_id text not null,
  message_id text not null,
  message text not null,
  requested_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  outcome text,
  exit_code integer,
  summary text not null,
  usage jsonb,
  error text,
  conversation text,
  checkpoint_id text,
  constraint turn_view_key primary key (session_id, number)
);
create table ${schema}.checkpoint_view (
  session_id text not null,
  id text not null,
  ordinal integer not null,
  reason text not null,
  turn integer not null,
  taken_at timestamptz not null,
  complete boolean not null,
  head text,
  base text,
  bytes double precision not null,
  parts jsonb not null,
  skipped jsonb not null,
  warnings jsonb not null,
  constraint checkpoint_view_key primary key (session_id, id)
);
create table ${schema}.message_view (
  session_id text not null,
  message_id text not null,
  ordinal integer not null,
  text text not null,
  mode text not null,
  status text not null,
  reason text,
  turn integer,
  offered boolean not null,
  queued_at timestamptz not null,
  constraint message_view_key primary key (session_id, message_id)
);
create table ${schema}.card_view (
  session_id text not null,
  id text not null,
  ordinal integer not null,
  kind text not null,
  text text not null,
  choices jsonb not null,
  asked jsonb,
  turn integer,
  since timestamptz not null,
  constraint card_view_key primary key (session_id, id)
);
create table ${schema}.environment_view (
  owner text not null,
  name text not null,
  version integer not null,
  recipe jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint environment_view_key primary key (owner, name)
);
`;

/** Columns that carry JSON: their values are written as text. */
export const JSON_COLUMNS: ReadonlySet<string> = new Set([
  'place',
  'continuity',
  'usage',
  'parts',
  'skipped',
  'warnings',
  'choices',
  'asked',
  'permissions',
  'recipe',
]);
