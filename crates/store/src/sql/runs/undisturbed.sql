-- Returns those runs that a worker still has and that nobody has asked to cancel.
-- Each row: $1 id. $2 worker
with item (id) as (values /* row */ ($1))
select r.id
from item
join agent_runs r on r.id = item.id
where r.worker_id = $2 and r.status in ('delivered', 'running') and r.cancel_requested_at is null
