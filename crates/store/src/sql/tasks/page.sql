-- Lists tasks of a goal, in the order of their numbers.
-- $1 tenant or null, $2 session, $3 number after which the page begins, $4 limit
select number, role, title, result, created_at, started_at, ended_at
from agent_tasks
where session_id = $2 and ($1 is null or tenant_id = $1) and number > $3
order by number
limit $4
