-- Takes the next event numbers of sessions. The rows stay locked until the transaction ends, so that the numbers
-- follow the order of commits without a gap.
-- Each row: $1 session, $2 number of events. $3 now
with item (id, numbers) as (values /* row */ ($1, $2))
update agent_sessions set last_seq = last_seq + item.numbers, updated_at = $3
from item
where agent_sessions.id = item.id
returning agent_sessions.id, last_seq, tenant_id
