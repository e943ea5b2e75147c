-- Reads the seat that takes the inputs that name none.
-- $1 session
select id, tenant_id, session_id, role, harness_id, is_entry, instance_id, acp_session_id, turns, settings, updated_at
from agent_definitions
where session_id = $1 and is_entry
