-- Lists the runs that a worker has claimed but not begun.
-- $1 worker
select r.id
from run_heartbeats h
join agent_runs r on r.id = h.run_id
where h.worker_id = $1 and r.status = 'delivered'
order by r.id
