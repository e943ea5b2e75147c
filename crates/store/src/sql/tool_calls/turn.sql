-- Returns the running turn whose agent calls a tool. Returns no row if the secret is another one, or if the worker has lost
-- the run.
-- $1 run, $2 worker, $3 hash of the run's secret, $4 oldest instant that is not stale
select r.id, r.tenant_id, r.input_id, r.origin, r.session_id, r.seat_id, r.automation_id, r.task_id,
    r.cancel_requested_at
from agent_runs r
join run_heartbeats h on h.run_id = r.id and h.worker_id = r.worker_id
where r.id = $1 and r.status = 'running' and r.worker_id = $2 and r.secret_hash = $3 and h.beat_at >= $4
