-- Replaces the content of an entry.
-- :id, :value, :size_bytes, :confidence, :version, :author, :run or null, :expires_at or null, :now
update agent_memory_entries
set value = :value, size_bytes = :size_bytes, confidence = :confidence, version = :version, author = :author,
    run_id = :run, expires_at = :expires_at, updated_at = :now
where id = :id
