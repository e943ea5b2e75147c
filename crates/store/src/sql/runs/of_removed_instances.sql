-- Lists runs that wait for a removed instance: they are queued, or their trigger files wait there.
-- $1 the only run to check, or null, $2 limit
select r.id as id
from instances i
join agent_runs r on r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
where i.state = 'gone' and ($1 is null or r.id = $1)
union all
select r.id
from agent_runs r
join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id
where r.status in ('delivered', 'running') and r.status = 'delivered' and r.worker_id = 'trigger-file'
  and i.state = 'gone' and ($1 is null or r.id = $1)
order by id
limit $2
