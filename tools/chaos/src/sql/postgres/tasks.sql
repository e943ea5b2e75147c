-- All tasks of goals.
select replace(id::text, '-', '') as id, 'ses_' || replace(session_id::text, '-', '') as goal, key, kind, status, plan_version
from automation.agent_tasks
order by session_id, number
