-- Lists a session's seats, the oldest first.
-- $1 tenant or null, $2 session
select id, tenant_id, session_id, role, name, harness_id, instructions, is_entry, directory, instance_id, placed_on, acp_session_id, turns, usage, settings, format, needs_format, updated_at
from agent_definitions
where session_id = $2 and ($1 is null or tenant_id = $1)
order by id
