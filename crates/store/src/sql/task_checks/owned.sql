-- Reads the checks of a worker. Returns no row if the worker has lost them.
-- $1 task, $2 attempt, $3 worker
select cancel_requested_at
from task_checks
where task_id = $1 and attempt = $2 and worker_id = $3 and status = 'running'
