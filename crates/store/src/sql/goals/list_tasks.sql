-- Counts the tasks of goals by their kind and status.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select session_id, kind, status, count(*) as number
from agent_tasks
where session_id in (select id from item)
group by session_id, kind, status
