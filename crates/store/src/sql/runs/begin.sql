-- Begins the turns of claimed runs. Returns no row for a run that the worker has lost.
-- Each row: $1 id, $2 prompt reference, $3 hash of the run's secret or null. $4 worker, $5 now, $6 instance
with item (id, prompt_ref, secret_hash) as (values /* row */ ($1, $2, $3))
update agent_runs
set status = 'running', started_at = $5, prompt_ref = item.prompt_ref, secret_hash = item.secret_hash, instance_id = $6
from item
where agent_runs.id = item.id and status = 'delivered' and worker_id = $4
returning agent_runs.id
