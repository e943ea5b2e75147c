-- Stores the usage that agents last reported of their sessions. A seat without a stored agent session is left out,
-- because its next turn begins a new one with no usage.
-- Each row: $1 seat, $2 usage
with item (id, usage) as (values /* row */ ($1, $2))
update agent_definitions set usage = item.usage
from item
where agent_definitions.id = item.id and acp_session_id is not null
