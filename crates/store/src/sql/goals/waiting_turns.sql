-- Lists the turns of a session's tasks that have not begun and hold no seat. `budget` says which budget is used up, if one is.
-- The longer list of statuses is redundant, but lets SQLite use the index of open runs.
-- $1 session
select task_id, case when reason = 'budget' then message end as budget
from agent_runs
where session_id = $1 and task_id is not null
  and status in ('queued', 'deferred', 'delivered', 'running') and status = 'deferred'
