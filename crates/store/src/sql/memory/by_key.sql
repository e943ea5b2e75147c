-- Returns an entry of an owner by its key, expired or not.
-- $1 automation or null, $2 session or null, $3 key
select id, automation_id, session_id, key, value, size_bytes, confidence, version, author, run_id, expires_at, created_at, updated_at, false as is_unconfirmed
from agent_memory_entries
where key = $3 and (automation_id = $1 or session_id = $2)
