-- Inserts an entry, and returns it as `memory/by_key`.
-- :id, :tenant, :automation or null, :session or null, :key, :value, :size_bytes, :confidence, :author, :run or null,
-- :expires_at or null, :now
insert into agent_memory_entries
    (id, tenant_id, automation_id, session_id, key, value, size_bytes, confidence, version, author, run_id, expires_at,
    created_at, updated_at)
values (:id, :tenant, :automation, :session, :key, :value, :size_bytes, :confidence, 1, :author, :run, :expires_at, :now, :now)
returning id, automation_id, session_id, key, value, size_bytes, confidence, version, author, run_id,
    expires_at, created_at, updated_at, false as is_unconfirmed
