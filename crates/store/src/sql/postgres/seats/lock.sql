-- Reads a seat and locks its row: every insert, end, pause and resume does so first.
-- $1 seat
select id, tenant_id, session_id, role, harness_id, is_entry, instance_id, acp_session_id, turns, settings, updated_at
from agent_definitions
where id = $1
for update
