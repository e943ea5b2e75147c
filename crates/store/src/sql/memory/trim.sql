-- Deletes some expired entries.
-- $1 now, $2 limit
delete from agent_memory_entries
where id in (select id from agent_memory_entries where expires_at <= $1 limit $2)
