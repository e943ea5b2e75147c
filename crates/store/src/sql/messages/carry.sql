-- Records the inputs of messages whose turns carry messages. A message that a further input carries has used up one turn of its chain.
-- Each row: $1 id, $2 input
with item (id, input_id) as (values /* row */ ($1, $2))
update agent_messages
set input_id = item.input_id,
    chain_length = case
        when agent_messages.input_id <> item.input_id then coalesce(agent_messages.chain_length, 1) + 1
        else agent_messages.chain_length
    end
from item
where agent_messages.id = item.id
