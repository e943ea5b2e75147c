-- Returns the bounds of a feed. `horizon` is the oldest open transaction in any database of the server, because an
-- open transaction may still write events with lower numbers. `next` is the first transaction that has not begun. The
-- rest is the last cursor that retention has removed.
-- $1 tenant
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as horizon,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next,
    t.transaction_id, t.log_id, t.seq
from (select 1) always
left join feed_trims t on t.tenant_id = $1
