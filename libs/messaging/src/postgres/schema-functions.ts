/** The functions of the log. Appending is one call, so one round trip and one fsync. */
export const LOG_FUNCTIONS = `
-- What the chain covers: everything that a person could want to alter. Fence and position are
-- left out, because a logical restore gives new ones.
create function es.row_hash(
  p_previous bytea, p_stream text, p_version bigint, p_id uuid, p_type text, p_schema smallint,
  p_at timestamptz, p_data json, p_meta json
) returns bytea language sql stable as $$
  select sha256(convert_to(json_build_array(
    encode(p_previous, 'hex'), p_stream, p_version, p_id, p_type, p_schema,
    (extract(epoch from p_at) * 1000)::bigint, p_data, p_meta)::text, 'UTF8'))
$$;

-- Returns the new version; -1 is a version conflict, -2 a closed stream. A call whose ids already
-- stand at exactly that place returns the same version again: a retry after an unknown commit.
create function es.append(
  p_stream text, p_aggregate text, p_expected bigint, p_ids uuid[], p_types text[],
  p_schemas smallint[], p_data json[], p_meta json[], p_at timestamptz default null,
  p_close boolean default false
) returns bigint language plpgsql as $$
declare
  n bigint := cardinality(p_ids);
  v_version bigint;
  v_fence xid8;
  v_closed boolean;
  v_hash bytea := '';
  v_hashes bytea[] := '{}';
  v_at timestamptz := date_trunc('milliseconds', coalesce(p_at, clock_timestamp()));
begin
  if p_expected = 0 then
    insert into es.stream (id, aggregate, version, fence, closed)
    values (p_stream, p_aggregate, n, pg_current_xact_id(), p_close)
    on conflict do nothing
    returning version, fence into v_version, v_fence;
  else
    update es.stream set version = version + n, closed = p_close,
      fence = greatest(fence, pg_current_xact_id())
    where id = p_stream and version = p_expected and not closed
    returning version, fence into v_version, v_fence;
  end if;
  if v_version is null then
    if (select count(*) = n from unnest(p_ids) with ordinality u (i, o)
        join es.event e on e.stream_id = p_stream and e.version = p_expected + u.o and e.id = u.i)
    then
      return p_expected + n;
    end if;
    select closed into v_closed from es.stream where id = p_stream;
    return case when v_closed then -2 else -1 end;
  end if;
  if p_expected > 0 then
    select hash into strict v_hash from es.event
    where stream_id = p_stream and version = p_expected;
  end if;
  for i in 1..n loop
    v_hash := es.row_hash(v_hash, p_stream, p_expected + i, p_ids[i], p_types[i], p_schemas[i],
      v_at, p_data[i], p_meta[i]);
    if n = 1 then
      insert into es.event
        (fence, stream_id, version, id, type, schema, data, meta, at, hash)
      values (v_fence, p_stream, p_expected + 1, p_ids[1], p_types[1], p_schemas[1],
        p_data[1], p_meta[1], v_at, v_hash);
      return v_version;
    end if;
    v_hashes[i] := v_hash;
  end loop;
  insert into es.event (fence, stream_id, version, id, type, schema, data, meta, at, hash)
  select v_fence, p_stream, p_expected + o, i, t, s, d, m, v_at, h
  from unnest(p_ids, p_types, p_schemas, p_data, p_meta, v_hashes)
    with ordinality u (i, t, s, d, m, h, o)
  order by o;
  return v_version;
end $$;

-- An append with everything that must commit with it. p_extra: {command, inbox, timers, effects,
-- close}. Answers {outcome, version?, result?}; only the outcome 'appended' leaves a trace.
create function es.record(
  p_stream text, p_aggregate text, p_expected bigint, p_ids uuid[], p_types text[],
  p_schemas smallint[], p_data json[], p_meta json[], p_at timestamptz, p_extra json
) returns json language plpgsql as $$
declare
  v_version bigint := p_expected;
  v_command json := p_extra -> 'command';
  v_inbox json := p_extra -> 'inbox';
  v_marked bigint;
  v_stored es.command;
begin
  if v_inbox is not null then
    insert into es.inbox (consumer, stream_id, version)
    values (v_inbox ->> 'consumer', v_inbox ->> 'stream', 0) on conflict do nothing;
    select version into v_marked from es.inbox
    where consumer = v_inbox ->> 'consumer' and stream_id = v_inbox ->> 'stream' for update;
    if v_marked >= (v_inbox ->> 'version')::bigint then
      return json_build_object('outcome', 'handled');
    end if;
  end if;
  if v_command is not null then
    -- Waits for a transaction that is just storing the same key.
    insert into es.command (id, body_hash, stream_id, result)
    values (v_command ->> 'id', v_command ->> 'bodyHash', p_stream, v_command -> 'result')
    on conflict do nothing;
    if not found then
      select * into v_stored from es.command where id = v_command ->> 'id';
      if v_stored.body_hash = v_command ->> 'bodyHash' then
        return json_build_object('outcome', 'answered', 'result', v_stored.result);
      end if;
      return json_build_object('outcome', 'key-reused');
    end if;
  end if;
  if cardinality(p_ids) > 0 then
    v_version := es.append(p_stream, p_aggregate, p_expected, p_ids, p_types, p_schemas, p_data,
      p_meta, p_at, coalesce((p_extra ->> 'close')::boolean, false));
    if v_version < 0 then
      delete from es.command where id = v_command ->> 'id';
      return json_build_object('outcome', case v_version when -2 then 'closed' else 'conflict' end);
    end if;
  end if;
  if v_inbox is not null then
    update es.inbox set version = (v_inbox ->> 'version')::bigint, attempts = 0, retry_at = null
    where consumer = v_inbox ->> 'consumer' and stream_id = v_inbox ->> 'stream';
  end if;
  if p_extra -> 'timers' is not null then
    delete from es.timer t using json_array_elements(p_extra -> 'timers') c
    where t.id = c ->> 'id' and c ->> 'cancel' = 'true';
    insert into es.timer (id, due_at, kind, stream_id, payload)
    select c ->> 'id', (c ->> 'dueAt')::timestamptz, c ->> 'kind', p_stream,
      coalesce(c -> 'payload', '{}')
    from json_array_elements(p_extra -> 'timers') c where c ->> 'cancel' is null
    on conflict (id) do update set due_at = excluded.due_at, kind = excluded.kind,
      stream_id = excluded.stream_id, payload = excluded.payload, attempts = 0, error = null,
      dead = false;
  end if;
  if p_extra -> 'effects' is not null then
    insert into es.effect (key, kind, stream_id, payload)
    select c ->> 'key', c ->> 'kind', p_stream, c -> 'payload'
    from json_array_elements(p_extra -> 'effects') c
    on conflict (key) do nothing;
  end if;
  return json_build_object('outcome', 'appended', 'version', v_version);
end $$;

-- Every way in which a stream differs from a chain that was only ever appended to.
create function es.verify(p_stream text, p_limit int)
returns table (stream_id text, version bigint, problem text) language sql stable as $$
  with walked as (
    select e.*, lag(e.version, 1, 0) over w as before_version, lag(e.hash, 1, '') over w as before_hash
    from es.event e
    where p_stream is null or e.stream_id = p_stream
    window w as (partition by e.stream_id order by e.version)
  ), ends as (
    select e.stream_id, max(e.version) as last from es.event e
    where p_stream is null or e.stream_id = p_stream group by 1
  )
  select * from (
    select w.stream_id, w.version, case when w.before_version + 1 <> w.version then 'missing'
      else 'changed' end as problem
    from walked w
    where w.before_version + 1 <> w.version or w.hash <> es.row_hash(w.before_hash, w.stream_id,
      w.version, w.id, w.type, w.schema, w.at, w.data, w.meta)
    union all
    select coalesce(s.id, n.stream_id), coalesce(greatest(s.version, n.last), 0),
      case when s.id is null or n.last > s.version then 'added' else 'missing' end
    from (select * from es.stream where p_stream is null or id = p_stream) s
    full join ends n on n.stream_id = s.id
    where s.version is distinct from n.last
  ) found order by 1, 2 limit p_limit
$$;

-- After a logical restore (pg_dump) into a new cluster transaction ids start over: the stored
-- fences would lie in the future and the feed would stall. The relay then starts a new
-- JetStream stream, projections and consumers go on from versions and positions.
create function es.after_restore() returns void language plpgsql as $$
begin
  perform set_config('es.maintenance', 'on', true);
  update es.event set fence = '0';
  update es.stream set fence = '0';
  update es.projection set fence = '0';
  update es.relay set fence = '0', position = 0, js_seq = 0, js_created = '';
  perform set_config('es.maintenance', 'off', true);
end $$;
`;
