-- Ends the checks of a worker. Changes no row if the worker has lost them.
-- $1 task, $2 attempt, $3 worker, $4 status, $5 evidence, $6 now
update task_checks
set status = $4, worker_id = null, lease_until = null, evidence = $5, updated_at = $6, ended_at = $6
where task_id = $1 and attempt = $2 and worker_id = $3 and status = 'running'
