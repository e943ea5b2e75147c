-- Lists the runs that are executed on an instance, and the claimed runs without an instance, with their workers.
-- $1 instance
select r.id, r.worker_id
from run_heartbeats h
join agent_runs r on r.id = h.run_id
where (r.instance_id is null or r.instance_id = $1) and r.status in ('delivered', 'running')
order by h.run_id
