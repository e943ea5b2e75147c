-- Deletes the expired entries of an owner.
-- $1 automation or null, $2 session or null, $3 now
delete from agent_memory_entries
where (automation_id = $1 or session_id = $2) and expires_at <= $3
