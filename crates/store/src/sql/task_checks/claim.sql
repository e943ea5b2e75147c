-- Claims the checks of a task. Returns no row if another worker has them.
-- $1 task, $2 instance, $3 worker, $4 end of the lease, $5 now
update task_checks
set status = 'running', attempt = attempt + 1, worker_id = $3, lease_until = $4, updated_at = $5
where task_id = $1 and instance_id = $2 and (status = 'waiting' or status = 'running' and lease_until <= $5)
returning attempt, session_id, seat_id, cancel_requested_at
