-- Records the inputs whose turns carry messages.
-- Each row: $1 id, $2 input
with item (id, input_id) as (values /* row */ ($1, $2))
update agent_messages set input_id = item.input_id
from item
where agent_messages.id = item.id
