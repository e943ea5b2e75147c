-- Lists queued runs whose agent has its memory on a removed instance.
-- $1 the only run to check, or null, $2 limit
select r.id
from instances i
join agent_runs r on r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
where i.state = 'gone' and ($1 is null or r.id = $1)
order by r.id
limit $2
