-- Replaces the content of an entry, and returns the entry as `memory/by_key`.
-- :id, :value, :size_bytes, :confidence, :version, :author, :run or null, :expires_at or null, :now
update agent_memory_entries
set value = :value, size_bytes = :size_bytes, confidence = :confidence, version = :version, author = :author,
    run_id = :run, expires_at = :expires_at, updated_at = :now
where id = :id
returning id, automation_id, session_id, key, value, size_bytes, confidence, version, author, run_id,
    expires_at, created_at, updated_at, false as is_unconfirmed
