-- Lists checks that the server of an instance may claim, the oldest first: waiting ones, and those whose lease is over.
-- $1 instance, $2 now, $3 highest format, $4 limit
select c.task_id
from task_checks c
join goals g on g.session_id = c.session_id and g.needs_format <= $3
where c.instance_id = $1 and c.status in ('waiting', 'running') and (c.status = 'waiting' or c.lease_until <= $2)
order by c.created_at, c.task_id
limit $4
