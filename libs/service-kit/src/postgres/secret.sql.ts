/**
 * Table of `SecretStore`; harmless when run again. The lock is for services that start together:
 * two `create table if not exists` at once can fail on the catalogue. To be run as one query.
 */
export const SECRET_TABLE_SQL = `
select pg_advisory_xact_lock(hashtext('hangar:table:secret'));
create table if not exists secret (
  owner text not null,
  name text not null,
  sealed bytea not null,
  version integer not null,
  updated_at timestamptz not null,
  primary key (owner, name)
);
`;

/** Gives no row when the owner has as many secrets as allowed and this would be one more. */
export const SET_SECRET_SQL = `
with room as (
  select count(*) < $5 or bool_or(name = $2) as found from secret where owner = $1
)
insert into secret (owner, name, sealed, version, updated_at)
select $1, $2, $3, 1, $4 from room where found
on conflict (owner, name) do update
  set sealed = excluded.sealed, version = secret.version + 1, updated_at = excluded.updated_at
returning name, version, updated_at
`;

export const LIST_SECRETS_SQL = `
select name, version, updated_at from secret where owner = $1 order by name limit $2
`;

export const DELETE_SECRET_SQL = `delete from secret where owner = $1 and name = $2`;

export const REVEAL_SECRETS_SQL = `
select name, sealed from secret where owner = $1 and name = any($2)
`;

export const PAGE_SECRETS_SQL = `
select owner, name, sealed, version from secret
where (owner, name) > ($1, $2) order by owner, name limit $3
`;

/** Leaves a secret alone that was set meanwhile: that one is sealed with the newest key already. */
export const RESEAL_SECRET_SQL = `
update secret set sealed = $3 where owner = $1 and name = $2 and version = $4
`;
