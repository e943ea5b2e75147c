-- Lists runs that wait for a removed instance: they are queued, or their trigger files wait there. `materialized`, because
-- SQLite would otherwise read all runs in the order of their IDs.
-- $1 the only run to check, or null, $2 limit
with waiting (id) as materialized (
    select r.id
    from agent_runs r
    join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id
    where r.status = 'queued' and i.state = 'gone' and ($1 is null or r.id = $1)
    union all
    select r.id
    from agent_runs r
    join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id
    where r.status in ('queued', 'delivered', 'running') and r.status = 'delivered' and r.worker_id = 'trigger-file'
      and i.state = 'gone' and ($1 is null or r.id = $1)
)
select id from waiting
order by id
limit $2
