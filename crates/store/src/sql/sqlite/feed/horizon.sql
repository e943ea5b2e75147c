-- Returns the bounds of a feed: the next transaction, which has not begun, and the last cursor that retention has
-- removed. SQLite has one writer, so a reader sees all transactions up to the last one.
-- $1 tenant
select i.last + 1 as horizon, i.last + 1 as next, t.transaction_id, t.log_id, t.seq
from transaction_ids i
left join feed_trims t on t.tenant_id = $1
