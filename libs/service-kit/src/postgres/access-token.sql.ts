/** Table of `TokenStore`; as with `SECRET_TABLE_SQL`, harmless again and at once, as one query. */
export const ACCESS_TOKEN_TABLE_SQL = `
select pg_advisory_xact_lock(hashtext('hangar:table:access_token'));
create table if not exists access_token (
  token_id text primary key,
  owner text not null,
  name text not null,
  scope text not null check (scope in ('admin', 'write', 'read')),
  token_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
create index if not exists access_token_owner on access_token (owner, created_at);
`;

const COLUMNS = 'token_id, owner, name, scope, created_at, expires_at, revoked_at';

/** Gives no row when the owner has as many live tokens as allowed. */
export const CREATE_TOKEN_SQL = `
insert into access_token (token_id, owner, name, scope, token_hash, created_at, expires_at)
select $1, $2, $3, $4, $5, $6, $7
where (
  select count(*) from access_token
  where owner = $2 and revoked_at is null and (expires_at is null or expires_at > $6)
) < $8
returning ${COLUMNS}
`;

/** Without an owner: the tokens of everybody. Newest first, the revoked ones included. */
export const LIST_TOKENS_SQL = `
select ${COLUMNS} from access_token where $1::text is null or owner = $1
order by created_at desc, token_id limit $2
`;

export const REVOKE_TOKEN_SQL = `
update access_token set revoked_at = coalesce(revoked_at, $3)
where token_id = $1 and ($2::text is null or owner = $2)
returning token_hash
`;

export const RESOLVE_TOKEN_SQL = `
select ${COLUMNS}, token_hash from access_token
where token_hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2)
`;
