-- Finds the seats of sessions that take the inputs that name none.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select id, tenant_id, session_id
from agent_definitions
where is_entry and session_id in (select id from item)
