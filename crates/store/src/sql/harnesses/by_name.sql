-- Returns the agent with a name.
-- $1 tenant, $2 name
select id, name, config, format, needs_format from harnesses where tenant_id = $1 and name = $2
