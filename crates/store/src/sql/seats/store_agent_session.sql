-- Stores the IDs of the agents' sessions in seats whose turns have ended, so that later turns can restore them.
-- Each row: $1 seat, $2 agent's session id. $3 now
with item (id, acp_session_id) as (values /* row */ ($1, $2))
update agent_definitions
set acp_session_id = item.acp_session_id, turns = turns + 1, updated_at = $3
from item
where agent_definitions.id = item.id
