/** Table of `HandedCredentials`; harmless when run again, and to be run as one query. */
export const HANDED_CREDENTIAL_TABLE_SQL = `
select pg_advisory_xact_lock(hashtext('hangar:table:handed_credential'));
create table if not exists handed_credential (
  sandbox_id text not null,
  number bigint generated always as identity,
  name text not null,
  sealed bytea not null,
  primary key (sandbox_id, number)
);
`;

export const NOTE_HANDED_SQL = `
insert into handed_credential (sandbox_id, name, sealed) values ($1, $2, $3)
`;

export const LIST_HANDED_SQL = `
select name, sealed from handed_credential where sandbox_id = $1 order by number desc limit $2
`;

export const PRUNE_HANDED_SQL = `
delete from handed_credential where sandbox_id = $1 and number <= (
  select number from handed_credential where sandbox_id = $1 order by number desc offset $2 limit 1
)
`;

export const FORGET_HANDED_SQL = `delete from handed_credential where sandbox_id = $1`;
