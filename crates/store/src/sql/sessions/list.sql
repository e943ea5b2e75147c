-- Lists sessions, the most recently changed first.
-- $1 tenant or null, $2 type or null, $3 automation or null, $4 limit
select id, tenant_id, kind, type, state, state_reason, session_key, title, cwd, channel, chat_id, thread, schedule_id, last_seq, created_at, updated_at
from agent_sessions
where ($1 is null or tenant_id = $1)
  and ($2 is null or type = $2)
  and ($3 is null or schedule_id = $3)
order by updated_at desc, id desc
limit $4
