-- Reads one session.
-- $1 tenant or null, $2 id
select id, tenant_id, kind, type, state, state_reason, session_key, title, cwd, channel, chat_id, thread, schedule_id, last_seq, created_at, updated_at
from agent_sessions
where id = $2 and ($1 is null or tenant_id = $1)
