-- Reads the session with a key.
-- $1 tenant, $2 key
select id, tenant_id, kind, type, state, state_reason, session_key, title, cwd, channel, chat_id, thread, schedule_id, last_seq, created_at, updated_at
from agent_sessions
where tenant_id = $1 and session_key = $2
