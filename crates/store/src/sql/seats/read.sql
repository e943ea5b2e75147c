-- Reads a seat without a lock.
-- $1 seat
select id, tenant_id, session_id, role, harness_id, is_entry, instance_id, acp_session_id, turns, settings
from agent_definitions
where id = $1
