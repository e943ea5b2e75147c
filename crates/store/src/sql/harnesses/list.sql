-- Lists the agents that are not removed, by name.
-- $1 tenant or null
select id, name, config, format, needs_format from harnesses
where ($1 is null or tenant_id = $1) and removed_at is null
order by name, id
