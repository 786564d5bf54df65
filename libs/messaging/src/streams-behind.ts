import type pg from 'pg';

const PAGE_STREAMS_MAX = 500;

const BEHIND = `select s.id as stream, s.version::int as version
  from es.stream s left join es.inbox i on i.consumer = $1 and i.stream_id = s.id
  where s.id > $2 and starts_with(s.id, $3) and s.version > coalesce(i.version, 0)
  order by s.id limit $4`;

/**
 * Streams that are ahead of a consumer's inbox. JetStream keeps some days and may have lost its
 * store; this makes a consumer that was away for longer, or is new, complete all the same.
 */
export async function* streamsBehind(
  pool: pg.Pool,
  consumer: string,
  filter: string,
): AsyncGenerator<{ stream: string; version: number }> {
  const [, , aggregate = '>', id] = filter.split('.');
  const isAll = aggregate === '>';
  const prefix = isAll ? '' : `${aggregate}/${id === undefined || id === '>' ? '' : id}`;
  for (let after = ''; ;) {
    const values = [consumer, after, prefix, PAGE_STREAMS_MAX];
    const { rows } = await pool.query<{ stream: string; version: number }>(BEHIND, values);
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE_STREAMS_MAX) return;
    after = last.stream;
  }
}
