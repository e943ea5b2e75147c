-- Skips a claimed run whose precheck has declined. Returns no row if the worker has lost the run.
-- $1 id, $2 worker, $3 reason, $4 session or null, $5 seat or null, $6 now
update agent_runs
set status = 'skipped', reason = $3, session_id = $4, seat_id = $5, ended_at = $6
where id = $1 and status = 'delivered' and worker_id = $2
returning id
