-- Lists a tenant's sessions of a type, the most recently changed first. An index finds the type, so that the few
-- conversations of people cost nothing for the many sessions of schedules.
-- $1 tenant, $2 type, $3 automation or null, $4 limit
select id, tenant_id, kind, type, state, state_reason, session_key, title, cwd, channel, chat_id, thread, schedule_id, last_seq, created_at, updated_at
from agent_sessions
where tenant_id = $1 and type = $2
  and ($3 is null or schedule_id = $3)
order by updated_at desc, id desc
limit $4
