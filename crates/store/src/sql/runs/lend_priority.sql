-- Lends the priority of waiting inputs to messages of other agents that hold their seats and that no worker has.
-- SQLite takes the partial index of active runs only if its condition stands here as it is.
-- Each row: $1 seat, $2 priority
with item (id, priority) as (values /* row */ ($1, $2)),
highest (id, priority) as (select id, min(priority) from item group by id)
update agent_runs set priority = highest.priority
from highest
where agent_runs.seat_id = highest.id and agent_runs.priority > highest.priority and agent_runs.origin = 'message'
    and agent_runs.status in ('queued', 'delivered', 'running') and agent_runs.status = 'queued'
