-- Returns one agent.
-- $1 tenant or null, $2 id
select id, name, config, format, needs_format, removed_at from harnesses
where id = $2 and ($1 is null or tenant_id = $1)
