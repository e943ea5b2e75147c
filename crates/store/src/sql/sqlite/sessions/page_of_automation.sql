-- Lists the sessions that an automation made, the newest first.
-- $1 tenant, $2 type or null, $3 the id before which to begin, $4 kind or null, $5 state or null,
-- $6 automation, $7 text in lower case as a pattern or null, $8 the text as it was written as a
-- pattern, $9 a piece of an id as a pattern or null, $10 limit
select id, tenant_id, kind, type, state, state_reason, session_key, title, cwd, channel, chat_id, thread, schedule_id, last_seq, created_at, updated_at
from agent_sessions
where schedule_id = $6 and tenant_id = $1 and id < $3
  and ($2 is null or type = $2)
  and ($4 is null or kind = $4)
  and ($5 is null or state = $5)
  and ($7 is null
      or lower(title) like $7 escape '\' or title like $8 escape '\'
      or lower(session_key) like $7 escape '\' or session_key like $8 escape '\'
      or lower(hex(id)) like $9)
order by id desc
limit $10
