-- Lists open checks whose instance was removed.
-- $1 the only task to check, or null, $2 highest format, $3 limit
select c.task_id, c.session_id, i.name
from task_checks c
join instances i on i.tenant_id = c.tenant_id and i.id = c.instance_id and i.state = 'gone'
join goals g on g.session_id = c.session_id and g.needs_format <= $2
where c.status in ('waiting', 'running') and ($1 is null or c.task_id = $1)
order by c.task_id
limit $3
