-- Deletes an entry of an owner, unless it has expired.
-- $1 automation or null, $2 session or null, $3 key, $4 now
delete from agent_memory_entries
where key = $3 and (automation_id = $1 or session_id = $2) and (expires_at is null or expires_at > $4)
