-- Stores the IDs of the agents' sessions in the memories of tasks whose turns have ended.
-- Each row: $1 task, $2 seat, $3 true for a review, $4 agent's session id. $5 now
with item (task_id, seat_id, review, acp_session_id) as (values /* row */ ($1, $2, $3, $4))
update task_memories set acp_session_id = item.acp_session_id, turns = turns + 1, updated_at = $5
from item
where task_memories.task_id = item.task_id and task_memories.seat_id = item.seat_id
  and task_memories.review = item.review
