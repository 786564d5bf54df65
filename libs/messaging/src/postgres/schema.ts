/**
 * The log and what commits with it, as SQL (Postgres 14 or newer: xid8, json, skip locked).
 *
 * `data` and `meta` are json, not jsonb: the exact bytes are kept for the hash chain, and reading
 * costs about 0.6 of jsonb. `fence` is the greatest transaction id that wrote to the stream so
 * far: (fence, position) never gets a row behind a reader that stops below the oldest open
 * transaction, and along one stream it is the order of versions.
 */
export const LOG_TABLES = `
create schema if not exists es;

create table es.stream (
  id text primary key,
  aggregate text not null,
  version bigint not null,
  fence xid8 not null,
  closed boolean not null default false,
  created_at timestamptz not null default now(),
  constraint stream_id_names_aggregate check (starts_with(id, aggregate || '/'))
) with (fillfactor = 70);

create table es.event (
  position bigint generated always as identity,
  fence xid8 not null,
  stream_id text not null,
  version bigint not null,
  id uuid not null,
  type text not null,
  schema smallint not null,
  data json not null,
  meta json not null,
  at timestamptz not null,
  hash bytea not null,
  primary key (stream_id, version)
);
create unique index event_feed on es.event (fence, position);
create unique index event_id on es.event (id);

create function es.refuse_rewrite() returns trigger language plpgsql as $$
begin
  if current_setting('es.maintenance', true) = 'on' then
    return case tg_op when 'DELETE' then old else new end;
  end if;
  raise exception 'the event log is append-only' using errcode = 'restrict_violation';
end $$;
create trigger event_immutable before update or delete on es.event
  for each row execute function es.refuse_rewrite();
create trigger event_not_truncated before truncate on es.event
  for each statement execute function es.refuse_rewrite();

create table es.command (
  id text primary key,
  body_hash text not null,
  stream_id text,
  result json not null,
  at timestamptz not null default now()
);
create table es.snapshot (
  stream_id text not null,
  fold integer not null,
  version bigint not null,
  state json not null,
  at timestamptz not null default now(),
  primary key (stream_id, fold)
);
create table es.relay (
  name text primary key,
  fence xid8 not null default '0',
  position bigint not null default 0,
  js_seq bigint not null default 0,
  js_created text not null default '',
  updated_at timestamptz not null default now()
);
create table es.inbox (
  consumer text not null,
  stream_id text not null,
  version bigint not null,
  attempts integer not null default 0,
  retry_at timestamptz,
  blocked boolean not null default false,
  primary key (consumer, stream_id)
) with (fillfactor = 70);
create table es.parked (
  consumer text not null,
  stream_id text not null,
  version bigint not null,
  event_id uuid not null,
  type text not null,
  error text not null,
  attempts integer not null,
  first_at timestamptz not null default now(),
  primary key (consumer, stream_id, version)
);
create table es.projection (
  name text not null,
  fold integer not null,
  state text not null check (state in ('live', 'rebuilding')),
  fence xid8 not null default '0',
  position bigint not null default 0,
  updated_at timestamptz not null default now(),
  primary key (name, fold)
);
create table es.timer (
  id text primary key,
  due_at timestamptz not null,
  kind text not null,
  stream_id text not null,
  payload json not null,
  attempts integer not null default 0,
  error text,
  dead boolean not null default false
);
create index timer_due on es.timer (due_at) where not dead;
create table es.effect (
  key text primary key,
  kind text not null,
  stream_id text not null,
  payload json not null,
  state text not null default 'ready' check (state in ('ready', 'leased', 'done', 'dead')),
  attempts integer not null default 0,
  lease integer not null default 0,
  next_at timestamptz not null default now(),
  lease_owner text,
  lease_until timestamptz,
  error text,
  created_at timestamptz not null default now()
);
create index effect_waiting on es.effect (next_at) where state in ('ready', 'leased');
`;
