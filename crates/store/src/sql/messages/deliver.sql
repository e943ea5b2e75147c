-- Records that the turns of inputs have delivered the messages that they carried.
-- Each row: $1 seat, $2 input. $3 now
with item (seat_id, input_id) as (values /* row */ ($1, $2))
update agent_messages set delivered_at = $3
from item
where agent_messages.to_seat_id = item.seat_id and agent_messages.input_id = item.input_id
    and agent_messages.delivered_at is null
