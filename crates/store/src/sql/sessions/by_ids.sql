-- Reads sessions.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, tenant_id, kind, type, state, state_reason, session_key, title, cwd, channel, chat_id, thread, schedule_id, last_seq, created_at, updated_at
from agent_sessions
where id in (select id from item)
