-- Locks an agent that is not removed, also against transactions that begin to use it.
-- $1 tenant, $2 id
select id, name, config, format, needs_format from harnesses
where tenant_id = $1 and id = $2 and removed_at is null
