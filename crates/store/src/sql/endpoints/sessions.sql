-- Returns the facts of sessions for notifications.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, type, session_key, title, state, state_reason, channel, chat_id, thread
from agent_sessions
where id in (select id from item)
