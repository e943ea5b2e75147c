-- Records the inputs of tasks whose turns carry messages. Uses up no turn of their chains, because the attempts at a task have
-- their own limit.
-- Each row: $1 id, $2 input
with item (id, input_id) as (values /* row */ ($1, $2))
update agent_messages set input_id = item.input_id
from item
where agent_messages.id = item.id
