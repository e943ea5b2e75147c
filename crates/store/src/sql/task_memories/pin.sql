-- Pins the memories of tasks to the instance on which their first turns begin.
-- Each row: $1 task, $2 seat, $3 true for a review. $4 instance, $5 now
with item (task_id, seat_id, review) as (values /* row */ ($1, $2, $3))
update task_memories set instance_id = $4, updated_at = $5
from item
where task_memories.task_id = item.task_id and task_memories.seat_id = item.seat_id
  and task_memories.review = item.review and task_memories.instance_id is null
