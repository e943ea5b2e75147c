-- Returns the entry seats of sessions, which receive the inputs that name no seat.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select id, tenant_id, session_id
from agent_definitions
where is_entry and session_id in (select id from item)
