-- Unpins the memories of tasks in which no turn has ended, so that a retry may run on another instance.
-- Each row: $1 task, $2 seat, $3 true for a review. $4 now
with item (task_id, seat_id, review) as (values /* row */ ($1, $2, $3))
update task_memories set instance_id = null, updated_at = $4
from item
where task_memories.task_id = item.task_id and task_memories.seat_id = item.seat_id
  and task_memories.review = item.review and task_memories.acp_session_id is null
