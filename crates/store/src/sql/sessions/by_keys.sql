-- Finds the sessions with keys.
-- Each row: $1 tenant, $2 key
with item (tenant_id, session_key) as (values /* row */ ($1, $2))
select s.id, s.tenant_id, s.session_key
from item
join agent_sessions s on s.tenant_id = item.tenant_id and s.session_key = item.session_key
