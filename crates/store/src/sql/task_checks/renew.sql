-- Renews the lease of a worker. Returns no row if the worker has lost the checks.
-- $1 task, $2 attempt, $3 worker, $4 end of the lease, $5 now
update task_checks set lease_until = $4, updated_at = $5
where task_id = $1 and attempt = $2 and worker_id = $3 and status = 'running'
returning cancel_requested_at
