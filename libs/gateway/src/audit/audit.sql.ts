/** The session of an event, told by its stream; parts of a session carry its id in theirs. */
const SESSION_ID = `case split_part(e.stream_id, '/', 1)
    when 'session' then split_part(e.stream_id, '/', 2)
    when 'sandbox' then 'ses-' || split_part(e.stream_id, '-', 2)
    when 'checkpoint' then 'ses-' || split_part(e.stream_id, '-', 2)
    when 'run' then 'ses-' || split_part(e.stream_id, '-', 2)
    when 'terminal' then 'ses-' || split_part(e.stream_id, '-', 2)
  end`;

/**
 * One page of the log for auditors [L1]. The owner comes from the log as well: the read models may
 * be behind it, and a deleted session's trail stays. Parameters: 1 fence, 2 position, 3 owner or
 * null, 4 streams or null, 5 actor, 6 type, 7 since, 8 until, 9 rows.
 */
export const auditSql = (order: 'asc' | 'desc'): string => `
select e.stream_id as stream, e.version::int as version, e.id::text as id, e.type, e.schema::int,
  e.data, e.meta, e.at, e.fence::text as fence_text, e.position::text as position_text,
  coalesce(e.data ->> 'owner', c.data ->> 'owner') as owner
from es.event e
left join es.event c on c.stream_id = 'session/' || (${SESSION_ID}) and c.version = 1
where (e.fence, e.position) ${order === 'asc' ? '>' : '<'} ($1::xid8, $2::bigint)
  and e.fence < pg_snapshot_xmin(pg_current_snapshot())
  and ($3::text is null or coalesce(e.data ->> 'owner', c.data ->> 'owner') = $3)
  and ($4::text[] is null or e.stream_id = any($4))
  and ($5::text is null or e.meta ->> 'actor' = $5)
  and ($6::text is null or e.type = $6)
  and ($7::timestamptz is null or e.at >= $7)
  and ($8::timestamptz is null or e.at < $8)
order by e.fence ${order}, e.position ${order} limit $9`;

/** Streams of a session and of what belongs to it; parameters: its own, patterns of the others. */
export const SESSION_STREAMS = `select id from es.stream
where id = $1 or id like any($2::text[]) order by id limit 10000`;
