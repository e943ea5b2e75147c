-- Reads a seat. The transaction holds the only write lock already.
-- $1 seat
select id, tenant_id, session_id, role, harness_id, is_entry, instance_id, acp_session_id, turns, settings, updated_at
from agent_definitions
where id = $1
