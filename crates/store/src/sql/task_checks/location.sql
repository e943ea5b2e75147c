-- Reads the instance on which a seat took its last turn of a task, or on which its memory is.
-- $1 task, $2 seat
select i.id, i.kind, i.name, i.state
from agent_definitions d
join instances i on i.tenant_id = d.tenant_id and i.id = coalesce((
    select r.instance_id from agent_runs r
    where r.task_id = $1 and r.seat_id = $2 and r.started_at is not null
    order by r.id desc
    limit 1
), d.instance_id)
where d.id = $2
