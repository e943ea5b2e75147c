-- Says how far a feed can be read: up to the oldest transaction that is under way, in whatever database
-- of the server, since one of them may still write what comes before the others; which transaction no
-- one has begun; and the last place that retention has removed.
-- $1 tenant
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as horizon,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next,
    t.transaction_id, t.log_id, t.seq
from (select 1) always
left join feed_trims t on t.tenant_id = $1
