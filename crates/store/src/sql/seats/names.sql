-- Returns the names and the roles of a session's seats, the oldest first.
-- $1 tenant, $2 session
select id, name, role from agent_definitions
where session_id = $2 and tenant_id = $1
order by id
