-- Gives checks back, so that another server can claim them. Changes no row if the worker has lost them.
-- $1 task, $2 attempt, $3 worker, $4 now
update task_checks set status = 'waiting', worker_id = null, lease_until = null, updated_at = $4
where task_id = $1 and attempt = $2 and worker_id = $3 and status = 'running'
