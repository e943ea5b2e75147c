-- Lists the runs of a tenant that a worker executes on an instance.
-- $1 instance, $2 worker, $3 tenant
select r.id
from run_heartbeats h
join agent_runs r on r.id = h.run_id
where r.instance_id = $1 and r.worker_id = $2 and r.tenant_id = $3 and r.status in ('delivered', 'running')
order by h.run_id
