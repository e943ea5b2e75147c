-- All tasks of goals, each as JSON.
select json_object(
    'id', lower(hex(id)), 'goal', 'ses_' || lower(hex(session_id)), 'key', key, 'kind', kind, 'status', status,
    'plan_version', plan_version)
from agent_tasks
order by session_id, number
