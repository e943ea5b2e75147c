-- Reads the beginning of a goal's tasks of the plan, in the order of their numbers.
-- $1 session, $2 limit
select key, title, status, reason, substr(result, 1, 300) as result
from agent_tasks
where session_id = $1 and kind = 'work'
order by number
limit $2
