-- Says how far a feed can be read: up to the next transaction, which no one has begun; and the last place
-- that retention has removed.
-- $1 tenant
select i.last + 1 as horizon, i.last + 1 as next, t.transaction_id, t.log_id, t.seq
from transaction_ids i
left join feed_trims t on t.tenant_id = $1
