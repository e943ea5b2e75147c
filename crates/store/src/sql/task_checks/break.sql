-- Ends checks that no worker can run. The new attempt fences a worker that has them.
-- $1 task, $2 evidence, $3 now
update task_checks
set status = 'broken', attempt = attempt + 1, worker_id = null, lease_until = null, evidence = $2, updated_at = $3,
    ended_at = $3
where task_id = $1 and status in ('waiting', 'running')
