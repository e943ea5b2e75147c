-- The messages of all sessions, without their texts.
select 'msg_' || replace(id::text, '-', '') as id, 'run_' || replace(run_id::text, '-', '') as run, role, kind
from automation.agent_messages
order by session_id, seq
