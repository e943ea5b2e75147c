-- Records the presence of seats that their goal knows.
-- Each row: $1 seat, $2 presence
with item (id, presence) as (values /* row */ ($1, $2))
update agent_definitions set presence = item.presence
from item
where agent_definitions.id = item.id
