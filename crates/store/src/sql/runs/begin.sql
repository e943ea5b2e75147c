-- Begins the turns of claimed runs. Returns no row for a run that the worker has lost.
-- Each row: $1 id, $2 prompt reference. $3 worker, $4 now, $5 instance
with item (id, prompt_ref) as (values /* row */ ($1, $2))
update agent_runs
set status = 'running', started_at = $4, prompt_ref = item.prompt_ref, instance_id = $5
from item
where agent_runs.id = item.id and status = 'delivered' and worker_id = $3
returning agent_runs.id
