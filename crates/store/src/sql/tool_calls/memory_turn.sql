-- Returns the part of a running turn that the memory of its agent depends on, with the state of its session and the instant at
-- which its cancellation was requested. The automation is null if it is deleted. Returns no row as `tool_calls/turn`.
-- $1 run, $2 worker, $3 hash of the run's secret, $4 oldest instant that is not stale
select r.tenant_id, r.session_id, r.cancel_requested_at, c.state as session_state, c.session_key, h.name as agent_name,
    case when a.deleted_at is null then a.id end as automation_id
from agent_runs r
join run_heartbeats b on b.run_id = r.id and b.worker_id = r.worker_id
join agent_sessions c on c.id = r.session_id
join agent_definitions s on s.id = r.seat_id
join harnesses h on h.id = s.harness_id
left join automations a on a.id = r.automation_id
where r.id = $1 and r.status = 'running' and r.worker_id = $2 and r.secret_hash = $3 and b.beat_at >= $4
