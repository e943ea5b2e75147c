-- Sets the current sessions of automations. Null detaches an automation from its session.
-- Each row: $1 id, $2 session or null. $3 now
with item (id, session_id) as (values /* row */ ($1, $2))
update automations set current_session_id = item.session_id, updated_at = $3
from item
where automations.id = item.id
