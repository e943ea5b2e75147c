-- Lists the runs that a worker has claimed but not begun, with their directories.
-- $1 worker
select r.id, r.tenant_id, r.attempt, r.input_at, s.id as session_id,
    case when d.directory = 'own' then '' else s.cwd end as cwd
from agent_runs r
join agent_sessions s on s.id = r.session_id
join agent_definitions d on d.id = r.seat_id
where r.id in (select run_id from run_heartbeats where worker_id = $1) and r.status = 'delivered'
order by r.id
