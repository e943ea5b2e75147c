-- Lists the runs that a worker has claimed but not begun, with the directories of their sessions.
-- $1 worker
select r.id, r.tenant_id, r.attempt, r.input_at, s.id as session_id, s.cwd
from agent_runs r
join agent_sessions s on s.id = r.session_id
where r.id in (select run_id from run_heartbeats where worker_id = $1) and r.status = 'delivered'
order by r.id
