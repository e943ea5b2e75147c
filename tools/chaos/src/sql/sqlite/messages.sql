-- The messages of all sessions, without their texts, each as JSON.
select json_object(
    'id', 'msg_' || lower(hex(id)), 'run', case when run_id is not null then 'run_' || lower(hex(run_id)) end,
    'role', role, 'kind', kind)
from agent_messages
order by session_id, seq
