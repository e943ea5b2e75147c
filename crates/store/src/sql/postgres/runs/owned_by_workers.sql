-- Reads the runs that the given workers execute, and locks them in the order of their IDs, so that a transition that
-- ends one of them waits.
-- Each row: $1 id, $2 worker
with item (id, worker_id) as (values /* row */ ($1, $2))
select id, tenant_id, session_id, seat_id, worker_id
from agent_runs
where (id, worker_id) in (select id, worker_id from item) and status = 'running'
order by id
for no key update
